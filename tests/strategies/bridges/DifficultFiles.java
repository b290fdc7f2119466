package counterfoil.tests;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.URI;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * The folders of this machine as a file system that is slow, refuses renames, and fails at moments.
 *
 * <p>The file that counterfoil.difficult names has "delay_ms" (of each request), "renames" (true or false), "fails_on" (a part
 * of the paths that cannot be written) and "log", a file to which each request is appended.
 */
public final class DifficultFiles extends RawLocalFileSystem {
  private static final URI NAME = URI.create("difficult:///");

  @Override
  public URI getUri() {
    return NAME;
  }

  @Override
  public String getScheme() {
    return "difficult";
  }

  @Override
  public void initialize(URI name, Configuration settings) throws IOException {
    super.initialize(name, settings);
    setConf(settings);
  }

  private Properties request(String kind, Path path) throws IOException {
    Properties wanted = new Properties();
    FileInputStream in = new FileInputStream(getConf().get("counterfoil.difficult"));
    try {
      wanted.load(in);
    } finally {
      in.close();
    }
    synchronized (DifficultFiles.class) {
      FileOutputStream log = new FileOutputStream(wanted.getProperty("log"), true);
      try {
        log.write((kind + " " + path.toUri().getPath() + "\n").getBytes("UTF-8"));
      } finally {
        log.close();
      }
    }
    try {
      Thread.sleep(Long.parseLong(wanted.getProperty("delay_ms", "0")));
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
      throw new java.io.InterruptedIOException("interrupted");
    }
    return wanted;
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    request("open", path);
    return super.open(path, bufferSize);
  }

  @Override
  public FSDataOutputStream create(Path path, boolean overwrite, int bufferSize, short replication, long blockSize,
      Progressable progress) throws IOException {
    begin(path);
    return super.create(path, overwrite, bufferSize, replication, blockSize, progress);
  }

  @Override
  public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite, int bufferSize,
      short replication, long blockSize, Progressable progress) throws IOException {
    begin(path);
    return super.create(path, permission, overwrite, bufferSize, replication, blockSize, progress);
  }

  private void begin(Path path) throws IOException {
    Properties wanted = request("create", path);
    String refused = wanted.getProperty("fails_on", "");
    if (!refused.isEmpty() && path.toUri().getPath().contains(refused)) {
      throw new IOException("503 Slow Down");
    }
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    if (!Boolean.parseBoolean(request("rename", from).getProperty("renames", "true"))) {
      throw new IOException("403 renaming is not permitted");
    }
    return super.rename(from, to);
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    request("delete", path);
    return super.delete(path, recursive);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    request("list", path);
    return super.listStatus(path);
  }
}
