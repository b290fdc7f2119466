package counterfoil.messages;

/** A value that does not fit; the place is completed by the callers, from the inside to the outside. */
public final class Misfit extends RuntimeException {
  private final int code;
  private final String problem;
  private String path = "";

  public Misfit(int code, String problem) {
    super(problem, null, false, false);
    this.code = code;
    this.problem = problem;
  }

  /** Return the same error for the value that contains this one: at a name, [] or {}. */
  public Misfit under(String step) {
    boolean isName = path.length() > 0 && path.charAt(0) != '[' && path.charAt(0) != '{';
    path = isName ? step + "." + path : step + path;
    return this;
  }

  public Failure asFailure() {
    return new Failure(code, path, problem);
  }
}
