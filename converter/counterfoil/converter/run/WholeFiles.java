import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * How Spark writes the files of a checkpoint where renaming is a copy or is refused: each in one request.
 *
 * <p>The content is collected until the file is complete, so that nothing appears of one that is cancelled.
 */
public final class WholeFiles extends FileSystemBasedCheckpointFileManager {
  private final FileSystem files;

  public WholeFiles(Path path, Configuration settings) throws IOException {
    super(path, settings);
    this.files = path.getFileSystem(settings);
  }

  public CheckpointFileManager.CancellableFSDataOutputStream createAtomic(Path path, boolean overwrites) {
    return new WholeFile(this.files, path, overwrites, new ByteArrayOutputStream());
  }
}

final class WholeFile extends CheckpointFileManager.CancellableFSDataOutputStream {
  private final FileSystem files;
  private final Path path;
  private final boolean overwrites;
  private final ByteArrayOutputStream content;
  private boolean isClosed;

  WholeFile(FileSystem files, Path path, boolean overwrites, ByteArrayOutputStream content) {
    super(content);
    this.files = files;
    this.path = path;
    this.overwrites = overwrites;
    this.content = content;
  }

  public void close() throws IOException {
    if (this.isClosed) {
      return;
    }
    this.isClosed = true;
    super.flush();
    if (!this.overwrites && this.files.exists(this.path)) {
      throw new FileAlreadyExistsException(this.path + " exists already");
    }
    FSDataOutputStream out = this.files.create(this.path, this.overwrites);
    try {
      out.write(this.content.toByteArray());
    } finally {
      out.close();
    }
  }

  public void cancel() {
    this.isClosed = true;
  }
}
