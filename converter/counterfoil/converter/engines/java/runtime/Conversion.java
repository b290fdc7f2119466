package counterfoil.runtime;

/** The function that Spark calls; generated code makes the worker of a thread. */
public abstract class Conversion implements org.apache.spark.sql.api.java.UDF1, java.io.Serializable {
  private Lookup lookup;
  private java.util.HashMap secrets = new java.util.HashMap();

  protected abstract ThreadLocal workers();

  protected abstract Worker newWorker();

  /** Request from the driver what to do with records of unknown schema ids. */
  public void setLookup(String host, int port, String secret, String half) {
    lookup = new Lookup(host, port, secret, half);
  }

  /** Set what hashes of a name are made with, in hexadecimal digits; it goes to executors with this object. */
  public void setSecret(String name, String hex) {
    secrets.put(name, Texts.ofHex(hex));
  }

  /** Take over the secrets of another plan. */
  void setSecrets(java.util.HashMap others) {
    secrets = others;
  }

  public Object call(Object value) {
    if (value == null) {
      return null;
    }
    byte[] answer = worker().convert((byte[]) value);
    boolean isUnknown = lookup != null && answer[0] == (byte) 0xff && answer[1] == Codes.UNKNOWN_SCHEMA_ID;
    return isUnknown ? lookup.convert((byte[]) value, answer, secrets) : answer;
  }

  private Worker worker() {
    Worker worker = (Worker) workers().get();
    if (worker == null) {
      worker = newWorker();
      worker.secrets = secrets;
      workers().set(worker);
    }
    return worker;
  }

  /** Convert many values in one call: each is four bytes of length and its bytes, and so is each result. */
  public byte[] convertAll(byte[] values) throws java.io.IOException {
    java.io.DataInputStream in = new java.io.DataInputStream(new java.io.ByteArrayInputStream(values));
    java.io.ByteArrayOutputStream made = new java.io.ByteArrayOutputStream();
    java.io.DataOutputStream out = new java.io.DataOutputStream(made);
    while (in.available() > 0) {
      byte[] value = new byte[in.readInt()];
      in.readFully(value);
      byte[] answer = worker().convert(value);
      out.writeInt(answer.length);
      out.write(answer, 0, answer.length);
    }
    return made.toByteArray();
  }
}
