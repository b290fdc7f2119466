package counterfoil.runtime;

/** Times as numbers of other units and in other zones; the meaning is that of counterfoil.schema.plans.moments. */
public final class Moments {
  private static final long FIRST_SECOND = -62135596800L;
  private static final long LAST_SECOND = 253402300799L;
  private static final int RATIO_DIGITS = 100;

  private Moments() {
  }

  private static Failure beyond(String field, Object value, String type) {
    return new Failure(Codes.OUT_OF_RANGE, field, value + " does not fit " + type);
  }

  public static java.time.zone.ZoneRules rules(String zone) {
    return java.time.ZoneId.of(zone).getRules();
  }

  // -- units

  /** Return a number of units as the number of larger ones ({@code down}) or smaller ones ({@code up}). */
  public static long recounted(long value, long up, long down, java.math.RoundingMode mode, long low, long high,
      String type, String field) {
    long made;
    if (down == 1) {
      if (up != 1 && (value > Long.MAX_VALUE / up || value < Long.MIN_VALUE / up)) {
        throw beyond(field, Long.valueOf(value), type);
      }
      made = value * up;
    } else if (mode == java.math.RoundingMode.FLOOR && up == 1) {
      made = Math.floorDiv(value, down);
    } else {
      java.math.BigDecimal number = java.math.BigDecimal.valueOf(value);
      java.math.BigInteger whole = Numbers.rounded(
          number, java.math.BigDecimal.valueOf(up), java.math.BigDecimal.valueOf(down), mode, type, field);
      if (whole.bitLength() > 63) {
        throw beyond(field, Long.valueOf(value), type);
      }
      made = whole.longValue();
    }
    if (made < low || made > high) {
      throw beyond(field, Long.valueOf(value), type);
    }
    return made;
  }

  /** Return a number of units as the double nearest to the number of other ones. */
  public static double ratio(java.math.BigDecimal number, java.math.BigDecimal up, java.math.BigDecimal down) {
    java.math.BigDecimal product = number.multiply(up);
    java.math.MathContext context = new java.math.MathContext(RATIO_DIGITS, java.math.RoundingMode.DOWN);
    java.math.BigDecimal made = product.divide(down, context);
    if (made.multiply(down).compareTo(product) != 0) {  // what is cut off only decides between two neighbours
      java.math.BigDecimal rest = java.math.BigDecimal.ONE.scaleByPowerOfTen(-made.scale() - 1);
      made = product.signum() < 0 ? made.subtract(rest) : made.add(rest);
    }
    return made.doubleValue();
  }

  // -- zones

  /** Return a number of units since 1970 as a clock shows it, or back. */
  public static long shifted(long value, java.time.zone.ZoneRules rules, long ticks, boolean isBack, String type,
      String field) {
    long seconds = Math.floorDiv(value, ticks);
    long made = second(seconds, rules, isBack, Long.valueOf(value), field);
    if (made > Long.MAX_VALUE / ticks || made < Long.MIN_VALUE / ticks) {
      throw beyond(field, Long.valueOf(value), type);
    }
    long whole = made * ticks;
    long number = whole + Math.floorMod(value, ticks);
    if (whole > 0 && number < 0) {
      throw beyond(field, Long.valueOf(value), type);
    }
    return number;
  }

  /** Return a second since 1970 as a clock shows it, or back; {@code value} is shown where there is none. */
  public static long second(long second, java.time.zone.ZoneRules rules, boolean isBack, Object value, String field) {
    check(second, value, field);
    long offset = isBack
        ? -rules.getOffset(java.time.LocalDateTime.ofEpochSecond(second, 0, java.time.ZoneOffset.UTC)).getTotalSeconds()
        : rules.getOffset(java.time.Instant.ofEpochSecond(second)).getTotalSeconds();
    check(second + offset, value, field);
    return second + offset;
  }

  private static void check(long second, Object value, String field) {
    if (second < FIRST_SECOND || second > LAST_SECOND) {
      throw new Failure(Codes.OUT_OF_RANGE, field, value + " is not in the years 1 to 9999");
    }
  }
}
