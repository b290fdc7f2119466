package counterfoil.messages;

/** Makes the fields of messages that were read base values: symbols, points in time, sorted entries of maps. */
public final class Settling {
  private static final java.math.BigInteger NANOS = java.math.BigInteger.valueOf(1000000000L);
  private static final long SAFE_SECONDS = 9000000000L;

  private Settling() {
  }

  /** Change the fields of a message; a value that has no base value is a Misfit. */
  public static Object[] message(Layout type, Object[] fields) {
    if (!type.isSettled) {
      Member[] members = type.members;
      int i = 0;
      try {
        for (; i < members.length; i++) {
          fields[i] = field(members[i], fields[i]);
        }
      } catch (Misfit misfit) {
        throw misfit.under(members[i].name);
      }
    }
    return fields;
  }

  private static Object field(Member member, Object value) {
    if (value == null) {
      if (member.isMap) {
        return new Entries();
      }
      if (member.isRepeated) {
        return new Items();
      }
      if (member.isRequired) {
        throw new Misfit(Codes.UNDECODABLE, "the field is required, and it is not set");
      }
      return null;
    }
    if (member.isMap) {
      return entries(member, (Items) value);
    }
    if (!member.isRepeated) {
      return one(member, value);
    }
    Items items = (Items) value;
    try {
      for (int i = 0; i < items.count; i++) {
        items.values[i] = one(member, items.values[i]);
      }
    } catch (Misfit misfit) {
      throw misfit.under("[]");
    }
    return items;
  }

  private static Object one(Member member, Object value) {
    switch (member.kind) {
      case Member.ENUM: {
        Texts symbol = member.symbols.of((int) ((Long) value).longValue());
        if (symbol == null) {
          throw new Misfit(Codes.UNDECODABLE, "the number " + value + " has no symbol in the enum");
        }
        return symbol;
      }
      case Member.STRING: return member.isChecked ? value : checked((Texts) value);
      case Member.MESSAGE:
      case Member.GROUP: return formed(member, (Object[]) value);
      default: return value;
    }
  }

  private static Texts checked(Texts text) {
    if (!Texts.isUtf8(text.data, text.from, text.to)) {
      throw new Misfit(Codes.UNDECODABLE, "the text is not UTF-8");
    }
    return text;
  }

  private static Object formed(Member member, Object[] fields) {
    switch (member.form) {
      case Member.NANOS:
      case Member.DURATION: return nanos(((Long) fields[0]).longValue(), ((Long) fields[1]).longValue());
      case Member.DATE: return day((Long) fields[0], (Long) fields[1], (Long) fields[2]);
      case Member.WRAPPED: return one(member.inner.members[0], fields[0]);
      default: return message(member.inner, fields);
    }
  }

  private static Object nanos(long seconds, long nanos) {
    if (seconds < SAFE_SECONDS && seconds > -SAFE_SECONDS) {
      return Long.valueOf(seconds * 1000000000L + nanos);
    }
    java.math.BigInteger whole = java.math.BigInteger.valueOf(seconds).multiply(NANOS);
    return Values.whole(whole.add(java.math.BigInteger.valueOf(nanos)));
  }

  private static Object day(Long year, Long month, Long day) {
    try {
      if (year.longValue() >= 1 && year.longValue() <= 9999) {
        java.time.LocalDate date = java.time.LocalDate.of(year.intValue(), month.intValue(), day.intValue());
        return Long.valueOf(date.toEpochDay());
      }
    } catch (java.time.DateTimeException noDate) {
      // as below
    }
    throw new Misfit(Codes.UNDECODABLE, year + "-" + month + "-" + day + " is no complete date");
  }

  /** Return the entries sorted by their keys; of equal keys the last. */
  private static Entries entries(Member member, Items pairs) {
    Member key = member.inner.members[0];
    Member value = member.inner.members[1];
    Object[] sorted = java.util.Arrays.copyOf(pairs.values, pairs.count);
    java.util.Arrays.sort(sorted, new ByKey());
    Entries made = new Entries();
    try {
      for (int i = 0; i < sorted.length && !key.isChecked && key.kind == Member.STRING; i++) {
        checked((Texts) ((Object[]) sorted[i])[0]);
      }
      for (int i = 0; i < sorted.length; i++) {
        Object[] pair = (Object[]) sorted[i];
        if (i + 1 == sorted.length || ByKey.compareKeys(pair[0], ((Object[]) sorted[i + 1])[0]) != 0) {
          made.add(text(key, pair[0]), one(value, pair[1]));
        }
      }
    } catch (Misfit misfit) {
      throw misfit.under("{}");
    }
    return made;
  }

  private static Texts text(Member key, Object value) {
    return key.kind == Member.STRING ? (Texts) value : Values.text(Texts.bytes(value.toString()));
  }
}
