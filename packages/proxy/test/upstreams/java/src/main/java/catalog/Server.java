package catalog;

import com.google.api.HttpBody;
import com.google.protobuf.ByteString;
import com.google.protobuf.Empty;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Status;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.stub.StreamObserver;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import library.v1.Catalog.CreateVolumeRequest;
import library.v1.Catalog.DeleteVolumeRequest;
import library.v1.Catalog.GetVolumeRequest;
import library.v1.Catalog.ImportVolumesResponse;
import library.v1.Catalog.ListVolumesRequest;
import library.v1.Catalog.ListVolumesResponse;
import library.v1.Catalog.MoveVolumeRequest;
import library.v1.Catalog.ReadFileRequest;
import library.v1.Catalog.UpdateVolumeRequest;
import library.v1.Catalog.UploadVolumeRequest;
import library.v1.Catalog.Volume;
import library.v1.CatalogServiceGrpc.CatalogServiceImplBase;

/** The catalog on grpc-java, in memory, with health and reflection. It knows nothing of REST. */
public final class Server extends CatalogServiceImplBase {
  private static final int PIECE_BYTES = 1024;

  private final Map<String, Volume> volumes = new LinkedHashMap<>();
  private final Map<String, HttpBody> texts = new LinkedHashMap<>();

  public static void main(String[] args) throws Exception {
    var server =
        Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
            .executor(Executors.newSingleThreadExecutor())
            .addService(new Server())
            .addService(new HealthStatusManager().getHealthService())
            .addService(ProtoReflectionServiceV1.newInstance())
            .build()
            .start();
    System.out.println("listening on " + server.getPort());
    server.awaitTermination();
  }

  private Volume find(String name) {
    var volume = volumes.get(name);
    if (volume == null) throw notFound(name);
    return volume;
  }

  private static RuntimeException notFound(String what) {
    return Status.NOT_FOUND.withDescription("there is no " + what).asRuntimeException();
  }

  private Volume add(String parent, Volume given) {
    var name = parent + "/volumes/" + given.getId();
    volumes.put(name, given.toBuilder().setName(name).build());
    return volumes.get(name);
  }

  private Stream<Volume> list(ListVolumesRequest request) {
    List<String> titles = request.getTitlesList();
    int size = request.getPageSize();
    return List.copyOf(volumes.values()).stream()
        .filter(volume -> volume.getName().startsWith(request.getParent() + "/"))
        .filter(volume -> titles.isEmpty() || titles.contains(volume.getTitle()))
        .limit(size == 0 ? Long.MAX_VALUE : size);
  }

  private HttpBody text(String name) {
    return texts.getOrDefault(find(name).getName(), HttpBody.getDefaultInstance());
  }

  private Volume keep(String name, HttpBody text) {
    texts.put(name, text);
    return find(name);
  }

  @Override
  public void getVolume(GetVolumeRequest request, StreamObserver<Volume> answers) {
    answer(
        answers,
        () ->
            request.getName().isEmpty()
                ? volumes.values().stream()
                    .filter(volume -> volume.getId() == request.getId())
                    .findFirst()
                    .orElseThrow(() -> notFound("volume " + request.getId()))
                : find(request.getName()));
  }

  @Override
  public void listVolumes(
      ListVolumesRequest request, StreamObserver<ListVolumesResponse> answers) {
    var found = list(request).toList();
    answer(answers, () -> ListVolumesResponse.newBuilder().addAllVolumes(found).build());
  }

  @Override
  public void createVolume(CreateVolumeRequest request, StreamObserver<Volume> answers) {
    answer(answers, () -> add(request.getParent(), request.getVolume()));
  }

  @Override
  public void updateVolume(UpdateVolumeRequest request, StreamObserver<Volume> answers) {
    answer(
        answers,
        () -> {
          var given = request.getVolume();
          var volume = find(given.getName()).toBuilder();
          if (request.getUpdateMask().getPathsList().contains("title")) {
            volume.setTitle(given.getTitle());
          }
          volumes.put(given.getName(), volume.build());
          return volume.build();
        });
  }

  @Override
  public void deleteVolume(DeleteVolumeRequest request, StreamObserver<Empty> answers) {
    answer(
        answers,
        () -> {
          volumes.remove(find(request.getName()).getName());
          return Empty.getDefaultInstance();
        });
  }

  @Override
  public void moveVolume(MoveVolumeRequest request, StreamObserver<Volume> answers) {
    answer(
        answers,
        () -> {
          var volume = find(request.getName());
          volumes.remove(request.getName());
          return add(request.getTo(), volume);
        });
  }

  @Override
  public void downloadVolume(GetVolumeRequest request, StreamObserver<HttpBody> answers) {
    answer(answers, () -> text(request.getName()));
  }

  @Override
  public void uploadVolume(UploadVolumeRequest request, StreamObserver<Volume> answers) {
    answer(answers, () -> keep(request.getName(), request.getContent()));
  }

  @Override
  public void watchVolumes(ListVolumesRequest request, StreamObserver<Volume> answers) {
    list(request).forEach(answers::onNext);
    answers.onCompleted();
  }

  @Override
  public StreamObserver<CreateVolumeRequest> importVolumes(
      StreamObserver<ImportVolumesResponse> answers) {
    var response = ImportVolumesResponse.newBuilder();
    return received(
        request -> {
          add(request.getParent(), request.getVolume());
          response.setCount(response.getCount() + 1);
        },
        () -> answer(answers, response::build));
  }

  @Override
  public void streamVolume(GetVolumeRequest request, StreamObserver<HttpBody> answers) {
    HttpBody text;
    try {
      text = text(request.getName());
    } catch (RuntimeException error) {
      answers.onError(error);
      return;
    }
    var data = text.getData();
    for (int at = 0; at < data.size(); at += PIECE_BYTES) {
      var piece = data.substring(at, Math.min(at + PIECE_BYTES, data.size()));
      answers.onNext(text.toBuilder().setData(piece).build());
    }
    answers.onCompleted();
  }

  @Override
  public StreamObserver<UploadVolumeRequest> appendVolume(StreamObserver<Volume> answers) {
    var whole = UploadVolumeRequest.newBuilder();
    return received(
        request -> {
          ByteString before = whole.getContent().getData();
          var content = request.getContent();
          whole.setName(request.getName());
          whole.setContent(content.toBuilder().setData(before.concat(content.getData())));
        },
        () -> answer(answers, () -> keep(whole.getName(), whole.getContent())));
  }

  @Override
  public void readFile(ReadFileRequest request, StreamObserver<ReadFileRequest> answers) {
    answer(answers, () -> request);
  }

  private static <T> void answer(StreamObserver<T> answers, Supplier<T> supplier) {
    try {
      answers.onNext(supplier.get());
      answers.onCompleted();
    } catch (RuntimeException error) {
      answers.onError(error);
    }
  }

  private static <T> StreamObserver<T> received(Consumer<T> each, Runnable then) {
    return new StreamObserver<>() {
      @Override
      public void onNext(T request) {
        each.accept(request);
      }

      @Override
      public void onError(Throwable error) {}

      @Override
      public void onCompleted() {
        then.run();
      }
    };
  }
}
