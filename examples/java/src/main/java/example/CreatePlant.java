package example;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import plantstore.v1.PlantServiceGrpc;
import plantstore.v1.PlantServiceGrpc.PlantServiceBlockingStub;
import plantstore.v1.PlantServiceOuterClass.CreatePlantRequest;
import plantstore.v1.PlantServiceOuterClass.NewPlant;
import plantstore.v1.PlantServiceOuterClass.Plant;

/** Creates a plant over gRPC, and shows what a caller has to be ready for. */
public final class CreatePlant {
  private static final Duration ATTEMPT_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration TOTAL_TIMEOUT = Duration.ofSeconds(20);
  private static final Duration FIRST_BACKOFF = Duration.ofMillis(100);

  private final PlantServiceBlockingStub stub;

  private CreatePlant(PlantServiceBlockingStub stub) {
    this.stub = stub;
  }

  public static void main(String[] args) throws Exception {
    ManagedChannel channel = connect(URI.create(System.getenv("PLANT_STORE_URL")));
    try {
      Metadata headers = new Metadata();
      headers.put(
          Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
          "Bearer " + System.getenv("PLANT_STORE_TOKEN"));
      new CreatePlant(
              PlantServiceGrpc.newBlockingStub(channel)
                  .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers)))
          .run();
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  private static ManagedChannel connect(URI url) {
    ChannelCredentials credentials =
        url.getScheme().equals("https")
            ? TlsChannelCredentials.create()
            : InsecureChannelCredentials.create();
    return Grpc.newChannelBuilder(url.getAuthority(), credentials).build();
  }

  private void run() throws InterruptedException, InvalidProtocolBufferException {
    NewPlant basil =
        NewPlant.newBuilder()
            .setId(9007199254740993L) // Any int64: this one is not a double.
            .setName("Basil")
            .setTag("herb")
            .build();
    // The same call again is safe: it has the same answer, and there is one plant.
    for (String label : List.of("created", "again")) {
      Plant plant = create(basil);
      System.out.printf("%s: %s (%s)%n", label, plant.getName(), plant.getTag());
    }

    NewPlant mint = basil.toBuilder().setName("Mint").build();
    Status taken = errorOf(mint, Status.Code.ALREADY_EXISTS).getStatus();
    System.out.println("taken: " + taken.getDescription());

    NewPlant nameless = basil.toBuilder().clearName().build();
    StatusRuntimeException refused = errorOf(nameless, Status.Code.INVALID_ARGUMENT);
    for (BadRequest.FieldViolation violation : fieldViolations(refused)) {
      System.out.printf("refused: %s %s%n", violation.getField(), violation.getDescription());
    }
  }

  /**
   * Creates a plant, and tries again while that may help. A lost answer leaves it open whether the
   * plant was stored; the next attempt settles it.
   */
  private Plant create(NewPlant plant) throws InterruptedException {
    CreatePlantRequest request = CreatePlantRequest.newBuilder().setPlant(plant).build();
    long end = System.nanoTime() + TOTAL_TIMEOUT.toNanos();
    for (long backoff = FIRST_BACKOFF.toNanos(); ; backoff *= 2) {
      // The server keeps the deadline, too.
      long timeout = Math.min(ATTEMPT_TIMEOUT.toNanos(), end - System.nanoTime());
      try {
        return stub.withDeadlineAfter(timeout, TimeUnit.NANOSECONDS).createPlant(request).getPlant();
      } catch (StatusRuntimeException error) {
        long pause = ThreadLocalRandom.current().nextLong(backoff);
        if (!mayPass(error) || System.nanoTime() + pause >= end) throw error;
        System.err.printf(
            "%s, trying again in %d ms%n",
            error.getStatus().getCode(), TimeUnit.NANOSECONDS.toMillis(pause));
        TimeUnit.NANOSECONDS.sleep(pause);
      }
    }
  }

  private static boolean mayPass(StatusRuntimeException error) {
    return switch (error.getStatus().getCode()) {
      case UNAVAILABLE, DEADLINE_EXCEEDED -> true;
      default -> false;
    };
  }

  private StatusRuntimeException errorOf(NewPlant plant, Status.Code code)
      throws InterruptedException {
    try {
      throw new IllegalStateException("no error, but " + create(plant));
    } catch (StatusRuntimeException error) {
      if (error.getStatus().getCode() != code) throw error;
      return error;
    }
  }

  private static List<BadRequest.FieldViolation> fieldViolations(StatusRuntimeException error)
      throws InvalidProtocolBufferException {
    List<BadRequest.FieldViolation> violations = new ArrayList<>();
    for (var detail : StatusProto.fromThrowable(error).getDetailsList()) {
      if (detail.is(BadRequest.class)) {
        violations.addAll(detail.unpack(BadRequest.class).getFieldViolationsList());
      }
    }
    return violations;
  }
}
