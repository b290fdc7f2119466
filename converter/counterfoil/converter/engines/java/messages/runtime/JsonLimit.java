package counterfoil.messages;

/** A limit of numbers; they are compared as the decimals that they are written as. */
public final class JsonLimit {
  private final java.math.BigDecimal exact;
  private final double near;
  private final boolean isExcluded;

  public JsonLimit(String limit, boolean isExcluded) {
    exact = new java.math.BigDecimal(limit);
    near = exact.doubleValue();
    this.isExcluded = isExcluded;
  }

  public boolean isAbove(Object value) {
    int order = compare(value);
    return order < 0 || (isExcluded && order == 0);
  }

  public boolean isBelow(Object value) {
    int order = compare(value);
    return order > 0 || (isExcluded && order == 0);
  }

  /** Compare a value with the limit. */
  private int compare(Object value) {
    if (value instanceof Double) {
      double real = ((Double) value).doubleValue();
      if (real != near) {
        return real < near ? -1 : 1;
      }
      return real == 0 ? -exact.signum() : Numbers.shortestDouble(real).compareTo(exact);
    }
    return new java.math.BigDecimal(Values.big(value)).compareTo(exact);
  }
}
