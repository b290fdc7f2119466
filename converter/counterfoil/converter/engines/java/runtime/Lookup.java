package counterfoil.runtime;

/** Requests from the driver what converts records of a schema id that was registered after the start. */
public final class Lookup implements java.io.Serializable {
  private static final int TIMEOUT_MS = 180000;
  private static final int MOST = 65536;
  private static final int SIGNATURE_BYTES = 32;
  private static final java.util.Map KNOWN = new java.util.HashMap();
  private static final Object DEAD_LETTER = new Object();

  private final String host;
  private final int port;
  private final String secret;
  private final String half;

  Lookup(String host, int port, String secret, String half) {
    this.host = host;
    this.port = port;
    this.secret = secret;
    this.half = half;
  }

  /** Return the result for a value whose id is unknown; the failure that says so where it is a dead letter. */
  byte[] convert(byte[] value, byte[] failure, java.util.HashMap secrets) {
    Object found = found(java.util.Arrays.copyOfRange(value, 1, 5), secrets);
    return found == DEAD_LETTER ? failure : (byte[]) ((Conversion) found).call(value);
  }

  private Object found(byte[] id, java.util.HashMap secrets) {
    String key = secret + half + Texts.hex(id[0]) + Texts.hex(id[1]) + Texts.hex(id[2]) + Texts.hex(id[3]);
    synchronized (KNOWN) {
      Object found = KNOWN.get(key);
      if (found == null) {
        if (KNOWN.size() >= MOST) {
          KNOWN.clear();
        }
        found = requested(id);
        if (found != DEAD_LETTER) {
          ((Conversion) found).setSecrets(secrets);
        }
        KNOWN.put(key, found);
      }
      return found;
    }
  }

  private Object requested(byte[] id) {
    try {
      byte[] request = {'J', (byte) half.charAt(0), id[0], id[1], id[2], id[3]};
      java.net.Socket socket = new java.net.Socket(host, port);
      try {
        socket.setSoTimeout(TIMEOUT_MS);
        socket.getOutputStream().write(request);
        socket.getOutputStream().write(signature(request, new byte[0], new byte[0]));
        java.io.DataInputStream in = new java.io.DataInputStream(socket.getInputStream());
        byte[] head = new byte[5];
        in.readFully(head);
        byte[] content = new byte[java.nio.ByteBuffer.wrap(head, 1, 4).getInt()];
        in.readFully(content);
        byte[] signed = new byte[SIGNATURE_BYTES];
        in.readFully(signed);
        if (!java.security.MessageDigest.isEqual(signed, signature(request, head, content))) {
          throw new java.io.IOException("the answer about a schema id does not come from the driver of this run");
        }
        return made(head[0], content);
      } finally {
        socket.close();
      }
    } catch (java.io.IOException failure) {
      throw new IllegalStateException("the driver did not answer about a schema id: " + failure.getMessage(), failure);
    } catch (java.security.GeneralSecurityException failure) {
      throw new IllegalStateException(failure.getMessage(), failure);
    }
  }

  private byte[] signature(byte[] request, byte[] head, byte[] content) throws java.security.GeneralSecurityException {
    javax.crypto.Mac mac = javax.crypto.Mac.getInstance("HmacSHA256");
    mac.init(new javax.crypto.spec.SecretKeySpec(Texts.bytes(secret), "HmacSHA256"));
    mac.update(request);
    mac.update(head);
    return mac.doFinal(content);
  }

  private static Object made(byte outcome, byte[] content) throws java.io.IOException {
    if (outcome == 'D') {
      return DEAD_LETTER;
    }
    if (outcome == 'S') {
      throw new IllegalStateException(Texts.string(content, 0, content.length));
    }
    return new Received(Lookup.class.getClassLoader(), content).newPlan();
  }
}
