package counterfoil.messages;

/**
 * Checks whether base values can be written as a Protobuf message: first points in time, dates and keys of maps, then
 * what the message does not take, such as two members of one oneof.
 */
public final class Fitting {
  private static final java.math.BigInteger NANOS = java.math.BigInteger.valueOf(1000000000L);
  private static final java.math.BigInteger FIRST = java.math.BigInteger.valueOf(-62135596800L);
  private static final java.math.BigInteger LAST = java.math.BigInteger.valueOf(253402300799L);
  private static final int FIRST_DAY = -719162;
  private static final int LAST_DAY = 2932896;

  private Fitting() {
  }

  /** Check a message. */
  public static void message(Layout type, Object[] fields) {
    forms(type, fields);
    taken(type, fields);
  }

  // -- forms

  private static void forms(Layout type, Object[] fields) {
    Member[] members = type.members;
    int i = 0;
    try {
      for (; i < members.length; i++) {
        if (fields[i] != null) {
          form(members[i], fields[i]);
        }
      }
    } catch (Misfit misfit) {
      throw misfit.under(members[i].name);
    }
  }

  private static void form(Member member, Object value) {
    if (member.isMap) {
      mapForms(member, (Entries) value);
    } else if (member.isRepeated) {
      Items items = (Items) value;
      try {
        for (int i = 0; i < items.count; i++) {
          oneForm(member, items.values[i]);
        }
      } catch (Misfit misfit) {
        throw misfit.under("[]");
      }
    } else {
      oneForm(member, value);
    }
  }

  private static void mapForms(Member member, Entries entries) {
    Member value = member.inner.members[1];
    try {
      for (int i = 0; i < entries.count; i++) {
        oneForm(value, entries.values[i]);
      }
      for (int i = 0; i < entries.count; i++) {
        key(member.inner.members[0], entries.keys[i]);
      }
    } catch (Misfit misfit) {
      throw misfit.under("{}");
    }
  }

  /** Return a key of a map as a value of its type. */
  public static Object key(Member key, Texts text) {
    if (key.kind == Member.STRING) {
      return text;
    }
    String spelt = Texts.string(text.data, text.from, text.to);
    if (key.kind == Member.BOOL && (spelt.equals("true") || spelt.equals("false"))) {
      return Boolean.valueOf(spelt);
    }
    if (key.kind != Member.BOOL && isWhole(spelt)) {
      return Values.whole(new java.math.BigInteger(spelt));
    }
    throw new Misfit(Codes.UNENCODABLE, "a key of the map is no key of the target's type");
  }

  private static boolean isWhole(String text) {
    int begin = text.startsWith("-") ? 1 : 0;
    if (begin == text.length() || (text.charAt(begin) == '0' && text.length() > 1)) {
      return false;
    }
    for (int i = begin; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return false;
      }
    }
    return text.length() <= 4000;
  }

  private static void oneForm(Member member, Object value) {
    switch (member.form) {
      case Member.NANOS: {
        java.math.BigInteger[] parts = Values.big(value).divideAndRemainder(NANOS);
        java.math.BigInteger seconds = parts[1].signum() < 0 ? parts[0].subtract(java.math.BigInteger.ONE) : parts[0];
        if (seconds.compareTo(FIRST) < 0 || seconds.compareTo(LAST) > 0) {
          throw new Misfit(Codes.UNENCODABLE, "expected a point in time in the years 1 to 9999; got " + value);
        }
        return;
      }
      case Member.DATE: {
        long day = ((Long) value).longValue();
        if (day < FIRST_DAY || day > LAST_DAY) {
          throw new Misfit(Codes.UNENCODABLE, "expected a date in the years 1 to 9999; got " + value);
        }
        return;
      }
      case 0:
        if (member.kind >= Member.MESSAGE && !member.inner.isSettled) {
          forms(member.inner, (Object[]) value);
        }
        return;
      default:
    }
  }

  // -- what the message takes

  private static void taken(Layout type, Object[] fields) {
    Member[] members = type.members;
    for (int i = 0; i < members.length; i++) {
      Object value = fields[i];
      if (value == null) {
        continue;
      }
      try {
        take(members[i], value);
      } catch (Misfit misfit) {
        throw misfit.under(members[i].name);
      }
      for (int j = 0; j < members[i].others.length; j++) {
        int other = members[i].others[j];
        if (other < i && fields[other] != null) {
          String both = members[other].name + " and " + members[i].name;
          throw new Misfit(Codes.UNENCODABLE, "expected one field of the oneof; got " + both);
        }
      }
    }
  }

  private static void take(Member member, Object value) {
    if (member.isMap) {
      takeEntries(member, (Entries) value);
    } else if (member.isRepeated) {
      Items items = (Items) value;
      for (int i = 0; i < items.count; i++) {
        try {
          takeOne(member, items.values[i]);
        } catch (Misfit misfit) {
          throw misfit.under("[" + i + "]");
        }
      }
    } else {
      takeOne(member, value);
    }
  }

  private static void takeEntries(Member member, Entries entries) {
    Member key = member.inner.members[0];
    for (int i = 0; i < entries.count; i++) {
      try {
        Object made = key(key, entries.keys[i]);
        checkRange(key.kind, made);
        takeOne(member.inner.members[1], entries.values[i]);
      } catch (Misfit misfit) {
        Texts text = entries.keys[i];
        String spelt = Texts.string(text.data, text.from, text.to);
        String shown = key.kind == Member.STRING ? Texts.repr(spelt)
            : key.kind != Member.BOOL ? spelt : spelt.equals("true") ? "True" : "False";
        throw misfit.under("[" + shown + "]");
      }
    }
  }

  private static void checkRange(int kind, Object value) {
    if (value instanceof Texts || value instanceof Boolean) {
      return;
    }
    java.math.BigInteger number = Values.big(value);
    boolean isWide = kind == Member.INT64 || kind == Member.UINT64 || kind == Member.SINT64 || kind == Member.FIXED64
        || kind == Member.SFIXED64;
    boolean isUnsigned = kind == Member.UINT32 || kind == Member.UINT64 || kind == Member.FIXED32
        || kind == Member.FIXED64;
    int bits = (isWide ? 64 : 32) - (isUnsigned ? 0 : 1);
    if (number.bitLength() > bits || (isUnsigned && number.signum() < 0)) {
      throw new Misfit(Codes.UNENCODABLE, value + " is no key of the target's type");
    }
  }

  private static void takeOne(Member member, Object value) {
    if (member.form == Member.DURATION && Values.big(value).divide(NANOS).bitLength() > 63) {
      throw new Misfit(Codes.UNENCODABLE, "the seconds are beyond 64 bits").under("seconds");
    }
    if (member.form == 0 && member.kind >= Member.MESSAGE && !member.inner.isSettled) {
      taken(member.inner, (Object[]) value);
    }
  }
}
