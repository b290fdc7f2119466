package counterfoil.runtime;

/** The classes of a plan that the driver sent: for each, its name, its length and its bytes; the plan's own first. */
final class Received extends ClassLoader {
  private final java.util.Map codes = new java.util.HashMap();
  private String first;

  Received(ClassLoader parent, byte[] content) throws java.io.IOException {
    super(parent);
    java.io.DataInputStream in = new java.io.DataInputStream(new java.io.ByteArrayInputStream(content));
    while (in.available() > 0) {
      String name = in.readUTF();
      byte[] code = new byte[in.readInt()];
      in.readFully(code);
      codes.put(name, code);
      if (first == null) {
        first = name;
      }
    }
  }

  Object newPlan() {
    try {
      return loadClass(first).getConstructors()[0].newInstance((Object[]) null);
    } catch (ReflectiveOperationException failure) {
      throw new IllegalStateException("the classes from the driver cannot be loaded: " + failure, failure);
    }
  }

  protected Class findClass(String name) throws ClassNotFoundException {
    byte[] code = (byte[]) codes.get(name);
    if (code == null) {
      throw new ClassNotFoundException(name);
    }
    return defineClass(name, code, 0, code.length);
  }
}
