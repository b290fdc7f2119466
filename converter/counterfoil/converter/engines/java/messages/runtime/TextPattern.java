package counterfoil.messages;

/** A regular expression of ECMA 262: an automaton, or, if it has back-references, one that Java searches for. */
public final class TextPattern {
  private static final long MOST_STEPS = 5000000L;

  private final Automaton automaton;
  private final java.util.regex.Pattern compiled;

  public TextPattern(String states, String sets) {
    automaton = new Automaton(states, sets);
    compiled = null;
  }

  /** An expression that means the same in Java. */
  public TextPattern(String expression) {
    automaton = null;
    compiled = java.util.regex.Pattern.compile(expression);
  }

  /** Return whether a text contains a match. */
  public boolean isIn(Texts text) {
    if (automaton != null) {
      return automaton.isIn(text);
    }
    try {
      return compiled.matcher(new Counted(Texts.string(text.data, text.from, text.to), new long[1])).find();
    } catch (StackOverflowError tooDeep) {
      throw tooLong();
    }
  }

  private static Misfit tooLong() {
    return new Misfit(Codes.UNENCODABLE, "the value is too long to be tried against a pattern of the schema");
  }

  /** A text that counts how often a character of it is looked at. */
  private static final class Counted implements CharSequence {
    private final String text;
    private final long[] steps;

    Counted(String text, long[] steps) {
      this.text = text;
      this.steps = steps;
    }

    public char charAt(int index) {
      if (++steps[0] > MOST_STEPS) {
        throw tooLong();
      }
      return text.charAt(index);
    }

    public int length() {
      return text.length();
    }

    public CharSequence subSequence(int from, int to) {
      return new Counted(text.substring(from, to), steps);
    }

    public String toString() {
      return text;
    }
  }
}
