package counterfoil.runtime;

/** Dates and points in time as text, and back: fields of fixed width, years 1 to 9999. */
public final class Instants {
  private static final int FIRST_DAY = -719162;
  private static final int LAST_DAY = 2932896;
  private static final long MICROS_PER_SECOND = 1000000L;
  private static final long MICROS_PER_DAY = 86400L * MICROS_PER_SECOND;

  /** The parts of a pattern: groups of letters by a number, and literal text. */
  private final byte[][] literals;
  private final int[] groups;
  private final java.time.zone.ZoneRules rules;
  private final String spelt;
  private final String type;
  private final long ticksPerSecond;

  private static final int YEAR = 0;
  private static final int MONTH = 1;
  private static final int DAY = 2;
  private static final int HOUR = 3;
  private static final int MINUTE = 4;
  private static final int SECOND = 5;
  private static final int MILLIS = 6;
  private static final int MICROS = 7;
  private static final int[] WIDTHS = {4, 2, 2, 2, 2, 2, 3, 6};
  private final int size;

  /**
   * {@code groups} has the number of a group of letters, or -1 for a literal; {@code zone} is null for a type without a
   * zone; {@code ticksPerSecond} is 0 for a date.
   */
  public Instants(int[] groups, byte[][] literals, String zone, long ticksPerSecond, String spelt, String type) {
    this.groups = groups;
    this.literals = literals;
    this.rules = zone == null ? null : java.time.ZoneId.of(zone).getRules();
    this.ticksPerSecond = ticksPerSecond;
    this.spelt = spelt;
    this.type = type;
    int all = 0;
    for (int i = 0; i < groups.length; i++) {
      all += groups[i] < 0 ? literals[i].length : WIDTHS[groups[i]];
    }
    this.size = all;
  }

  // -- formatting

  public void format(Texts made, long value, String field) {
    long day = value;
    long micros = 0;
    if (ticksPerSecond != 0) {
      day = Math.floorDiv(value, 86400L * ticksPerSecond);
      long ticks = Math.floorMod(value, 86400L * ticksPerSecond);
      micros = ticksPerSecond > MICROS_PER_SECOND
          ? ticks / (ticksPerSecond / MICROS_PER_SECOND)
          : ticks * (MICROS_PER_SECOND / ticksPerSecond);
    }
    check(day, value, field);
    if (rules != null) {
      micros += offsetAt(day * 86400L + micros / MICROS_PER_SECOND) * MICROS_PER_SECOND;
      day += Math.floorDiv(micros, MICROS_PER_DAY);
      micros = Math.floorMod(micros, MICROS_PER_DAY);
      check(day, value, field);
    }
    write(made, (int) day, micros);
  }

  private long offsetAt(long second) {
    if (rules.isFixedOffset()) {
      return rules.getOffset(java.time.Instant.EPOCH).getTotalSeconds();
    }
    return rules.getOffset(java.time.Instant.ofEpochSecond(second)).getTotalSeconds();
  }

  private static void check(long day, long value, String field) {
    if (day < FIRST_DAY || day > LAST_DAY) {
      throw new Failure(Codes.FORMAT_FAILED, field, value + " is not in the years 1 to 9999");
    }
  }

  private void write(Texts made, int day, long micros) {
    byte[] buffer = made.buffer(size);
    // the civil date of a day, by eras of 400 years that begin in March
    int shifted = day + 719468;
    int era = Math.floorDiv(shifted, 146097);
    int ofEra = shifted - era * 146097;
    int yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365;
    int ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
    int march = (5 * ofYear + 2) / 153;
    int month = march < 10 ? march + 3 : march - 9;
    int year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
    int dayOfMonth = ofYear - (153 * march + 2) / 5 + 1;
    int second = (int) (micros / MICROS_PER_SECOND);
    int fraction = (int) (micros % MICROS_PER_SECOND);
    int p = 0;
    for (int i = 0; i < groups.length; i++) {
      switch (groups[i]) {
        case YEAR: p = two(buffer, two(buffer, p, year / 100), year % 100); break;
        case MONTH: p = two(buffer, p, month); break;
        case DAY: p = two(buffer, p, dayOfMonth); break;
        case HOUR: p = two(buffer, p, second / 3600); break;
        case MINUTE: p = two(buffer, p, second / 60 % 60); break;
        case SECOND: p = two(buffer, p, second % 60); break;
        case MILLIS: p = three(buffer, p, fraction / 1000); break;
        case MICROS: p = three(buffer, three(buffer, p, fraction / 1000), fraction % 1000); break;
        default: p = literal(buffer, p, literals[i]);
      }
    }
  }

  private static int two(byte[] buffer, int at, int value) {
    int tens = value / 10;
    buffer[at] = (byte) ('0' + tens);
    buffer[at + 1] = (byte) ('0' + (value - 10 * tens));
    return at + 2;
  }

  private static int three(byte[] buffer, int at, int value) {
    buffer[at] = (byte) ('0' + value / 100);
    return two(buffer, at + 1, value % 100);
  }

  private static int literal(byte[] buffer, int at, byte[] text) {
    if (text.length == 1) {
      buffer[at] = text[0];
    } else {
      System.arraycopy(text, 0, buffer, at, text.length);
    }
    return at + text.length;
  }

  // -- parsing

  public long parse(byte[] data, int from, int to, String field) {
    int[] parts = new int[WIDTHS.length];
    int p = from;
    for (int i = 0; i < groups.length; i++) {
      int width = groups[i] < 0 ? literals[i].length : WIDTHS[groups[i]];
      if (p + width > to || !(groups[i] < 0 ? Texts.equal(data, p, p + width, literals[i])
          : take(data, p, width, parts, groups[i]))) {
        throw new Failure(Codes.PARSE_FAILED, field, Texts.shown(data, from, to) + " is not spelt " + spelt);
      }
      p += width;
    }
    if (p != to) {
      throw new Failure(Codes.PARSE_FAILED, field, Texts.shown(data, from, to) + " is not spelt " + spelt);
    }
    if (parts[YEAR] < 1 || parts[MONTH] < 1 || parts[MONTH] > 12 || parts[DAY] < 1
        || parts[DAY] > java.time.YearMonth.of(parts[YEAR], parts[MONTH]).lengthOfMonth()
        || parts[HOUR] > 23 || parts[MINUTE] > 59 || parts[SECOND] > 59) {
      throw new Failure(Codes.PARSE_FAILED, field, Texts.shown(data, from, to) + " is no date that exists");
    }
    long day = java.time.LocalDate.of(parts[YEAR], parts[MONTH], parts[DAY]).toEpochDay();
    if (ticksPerSecond == 0) {
      return day;
    }
    long second = day * 86400L + (parts[HOUR] * 60 + parts[MINUTE]) * 60 + parts[SECOND];
    long micros = second * MICROS_PER_SECOND + parts[MILLIS] * 1000L + parts[MICROS];
    if (rules != null) {
      java.time.LocalDateTime wall = java.time.LocalDateTime.ofEpochSecond(second, 0, java.time.ZoneOffset.UTC);
      micros -= rules.getOffset(wall).getTotalSeconds() * MICROS_PER_SECOND;
    }
    if (ticksPerSecond <= MICROS_PER_SECOND) {
      return Math.floorDiv(micros, MICROS_PER_SECOND / ticksPerSecond);
    }
    long factor = ticksPerSecond / MICROS_PER_SECOND;
    if (micros > Long.MAX_VALUE / factor || micros < Long.MIN_VALUE / factor) {
      throw new Failure(Codes.OUT_OF_RANGE, field, Texts.shown(data, from, to) + " does not fit " + type);
    }
    return micros * factor;
  }

  private static boolean take(byte[] data, int at, int width, int[] parts, int group) {
    int value = 0;
    for (int p = at; p < at + width; p++) {
      int digit = data[p] - '0';
      if (digit < 0 || digit > 9) {
        return false;
      }
      value = 10 * value + digit;
    }
    parts[group] = value;
    return true;
  }
}
