package catalog;

import catalog.api.BookServiceApi;
import catalog.api.CatalogServiceApi;
import catalog.model.Book;
import catalog.model.BookPatch;
import catalog.model.BookServiceUpdateBookBody;
import catalog.model.CatalogServiceMoveVolumeBody;
import catalog.model.CatalogServiceUpdateVolumeBody;
import catalog.model.Int64Input;
import catalog.model.UpdateBookRequest;
import catalog.model.Volume;
import catalog.model.VolumeInput;
import java.io.File;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Calls every operation: `java catalog.Calls ORIGIN`. Writes the name of each that answered well. */
public final class Calls {
  private static final String ID = "9007199254740993";
  private static final byte[] TEXT = {0, (byte) 255, 10, 13};
  private static final Volume EMMA = volume("a", "Emma");

  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.setBasePath(args[0]);
    CatalogServiceApi catalog = new CatalogServiceApi(client);
    BookServiceApi books = new BookServiceApi(client);
    File text = File.createTempFile("text", ".txt");
    Files.write(text.toPath(), TEXT);

    call("CreateVolume", () -> {
      VolumeInput one = new VolumeInput().id(new Int64Input(ID)).title("Emma");
      equal(catalog.catalogServiceCreateVolume("a", null, one), EMMA);
    });
    call("GetVolume", () -> {
      equal(catalog.catalogServiceGetVolume("a", ID, null), EMMA);
      try {
        catalog.catalogServiceGetVolume("a", "none", null);
        throw new AssertionError("there is one");
      } catch (ApiException none) {
        equal(none.getCode(), 404);
      }
    });
    call("GetVolume2", () -> equal(catalog.catalogServiceGetVolume2(ID, null), EMMA));
    call("ListVolumes", () -> {
      List<String> titles = List.of("Emma", "Walden");
      equal(catalog.catalogServiceListVolumes("a", 5, titles).getVolumes(), List.of(EMMA));
    });
    call("UpdateVolume", () -> {
      CatalogServiceUpdateVolumeBody body = new CatalogServiceUpdateVolumeBody().title("Emma, 1");
      equal(catalog.catalogServiceUpdateVolume("a", ID, null, body), volume("a", "Emma, 1"));
      body = body.title("Emma").id(new Int64Input(ID));
      equal(catalog.catalogServiceUpdateVolume("a", ID, "title", body), EMMA);
    });
    call("UploadVolume", () -> equal(catalog.catalogServiceUploadVolume("a", ID, text), EMMA));
    call("DownloadVolume", () -> {
      equal(bytes(catalog.catalogServiceDownloadVolume("a", ID, null)), list(TEXT));
    });
    call("AppendVolume", () -> equal(catalog.catalogServiceAppendVolume("a", ID, text), EMMA));
    call("StreamVolume", () -> {
      equal(bytes(catalog.catalogServiceStreamVolume("a", ID, null)), list(TEXT));
    });
    call("ImportVolumes", () -> {
      VolumeInput walden = new VolumeInput().id(new Int64Input("1")).title("Walden");
      VolumeInput dune = new VolumeInput().id(new Int64Input(ID)).title("Dune");
      List<VolumeInput> all = List.of(walden, dune);
      equal(catalog.catalogServiceImportVolumes("b", null, all).getCount(), "2");
    });
    call("WatchVolumes", () -> {
      equal(catalog.catalogServiceWatchVolumes("b", null, null).size(), 2);
    });
    call("MoveVolume", () -> {
      CatalogServiceMoveVolumeBody body = new CatalogServiceMoveVolumeBody().to("shelves/c");
      equal(catalog.catalogServiceMoveVolume("a", ID, body), volume("c", "Emma"));
    });
    call("DeleteVolume", () -> equal(catalog.catalogServiceDeleteVolume("c", ID), Map.of()));
    call("ReadFile", () -> equal(catalog.catalogServiceReadFile("a b.txt").getPath(), "a b.txt"));
    call("ReadFile_2", () -> equal(catalog.catalogServiceReadFile2("a", "b").getPath(), "a/b"));
    call("ReadFile_3", () -> {
      equal(catalog.catalogServiceReadFile3("a", "b", "c").getPath(), "a/b/c");
    });
    call("ReadFile_4", () -> {
      equal(catalog.catalogServiceReadFile4("a", "b", "c", "d").getPath(), "a/b/c/d");
    });
    call("GetBook", () -> equal(books.bookServiceGetBook("a", "1", null).getTitle(), "Emma"));
    call("UpdateBook", () -> {
      Book before = books.bookServiceGetBook("a", "1", null);
      BookServiceUpdateBookBody body = new BookServiceUpdateBookBody().title("Persuasion");
      Book after = books.bookServiceUpdateBook("a", "1", null, null, null, body);
      equal(after, before.title("Persuasion")); // and nothing else
    });
    call("UpdateBook2", () -> {
      BookPatch book = new BookPatch().title("Emma");
      UpdateBookRequest request = new UpdateBookRequest().book(book).updateMask("title");
      equal(books.bookServiceUpdateBook2(request).getTitle(), "Emma");
    });
  }

  private interface Run {
    void run() throws Exception;
  }

  private static void call(String name, Run run) {
    try {
      run.run();
      System.out.println("passed " + name);
    } catch (Exception | AssertionError error) {
      System.out.println("failed " + name + ": " + error.toString().replace("\n", " "));
    }
  }

  private static void equal(Object actual, Object expected) {
    if (!Objects.equals(actual, expected)) {
      throw new AssertionError(actual + " is not " + expected);
    }
  }

  private static Volume volume(String shelf, String title) {
    String name = "shelves/" + shelf + "/volumes/" + ID;
    return new Volume().name(name).id(ID).title(title);
  }

  private static List<Byte> bytes(File file) throws Exception {
    return list(Files.readAllBytes(file.toPath()));
  }

  private static List<Byte> list(byte[] bytes) {
    Byte[] all = new Byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) all[i] = bytes[i];
    return List.of(all);
  }
}
