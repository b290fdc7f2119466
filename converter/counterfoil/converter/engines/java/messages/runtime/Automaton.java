package counterfoil.messages;

/**
 * A regular expression of ECMA 262 as states: a search takes time by the lengths of text and expression, and no stack.
 *
 * <p>A state is four numbers. {@code CHARACTER}: the set, the next state. {@code SPLIT}: two next states. {@code PLACE}:
 * its kind, the next state. {@code LOOK}: the first state of a part that must match or must not, 1 for negated plus 2
 * for backwards, the next state. {@code MATCH}.
 */
public final class Automaton {
  private static final int CHARACTER = 0;
  private static final int SPLIT = 1;
  private static final int PLACE = 2;
  private static final int LOOK = 3;
  private static final int WIDTH = 4;
  private static final int RADIX = 36;
  private static final long MOST_STEPS = 50000000L;

  private final int[] states;
  private final int[][] sets;

  /** The states, and the sets as the ends of their spans; each number with RADIX, sets apart by commas. */
  public Automaton(String states, String sets) {
    this.states = numbers(states);
    String[] spelt = sets.split(",");
    this.sets = new int[spelt.length][];
    for (int i = 0; i < spelt.length; i++) {
      this.sets[i] = numbers(spelt[i]);
    }
  }

  private static int[] numbers(String text) {
    java.util.StringTokenizer parts = new java.util.StringTokenizer(text, " ");
    int[] made = new int[parts.countTokens()];
    for (int i = 0; i < made.length; i++) {
      made[i] = Integer.parseInt(parts.nextToken(), RADIX);
    }
    return made;
  }

  /** Return whether a text contains a match. */
  public boolean isIn(Texts text) {
    int[] points = new int[text.to - text.from];
    int count = 0;
    int at = text.from;
    while (at < text.to) {
      int letter = text.data[at++] & 0xff;
      int more = letter < 0x80 ? 0 : letter < 0xe0 ? 1 : letter < 0xf0 ? 2 : 3;
      int point = more == 0 ? letter : letter & (0x3f >> more);
      for (int i = 0; i < more; i++) {
        point = point << 6 | (text.data[at++] & 0x3f);
      }
      points[count++] = point;
    }
    long[] steps = new long[1];
    return search(points, count, 0, 0, 1, true, steps);
  }

  /** Return whether there is a match from a place on; with {@code moves} also from any place after it. */
  private boolean search(int[] points, int count, int first, int from, int way, boolean moves, long[] steps) {
    int size = states.length / WIDTH;
    int[] now = new int[size];
    int[] next = new int[size];
    int[] seen = new int[size];
    int[] waiting = new int[size + 1];
    int held = 0;
    int turn = 1;
    int at = from;
    while (true) {
      if (at == from || moves) {
        held = add(first, at, points, count, now, held, seen, turn, waiting, steps);
        if (held < 0) {
          return true;
        }
      }
      int index = way > 0 ? at : at - 1;
      if (index < 0 || index >= count || (held == 0 && !moves)) {
        return false;
      }
      turn++;
      int added = 0;
      for (int i = 0; i < held; i++) {
        int place = now[i] * WIDTH;
        if (holds(sets[states[place + 1]], points[index])) {
          added = add(states[place + 2], at + way, points, count, next, added, seen, turn, waiting, steps);
          if (added < 0) {
            return true;
          }
        }
      }
      steps[0] += held + 1;
      if (steps[0] > MOST_STEPS) {
        throw new Misfit(Codes.UNENCODABLE, "the value is too long to be tried against a pattern of the schema");
      }
      int[] spare = now;
      now = next;
      next = spare;
      held = added;
      at += way;
    }
  }

  /** Add a state, and those that it leads to without a character; return how many there are, or -1 for a match. */
  private int add(int state, int at, int[] points, int count, int[] into, int held, int[] seen, int turn,
      int[] waiting, long[] steps) {
    int left = put(state, waiting, 0, seen, turn);
    int made = held;
    while (left > 0) {
      int found = waiting[--left];
      int place = found * WIDTH;
      switch (states[place]) {
        case CHARACTER:
          into[made++] = found;
          break;
        case SPLIT:
          left = put(states[place + 2], waiting, left, seen, turn);
          left = put(states[place + 1], waiting, left, seen, turn);
          break;
        case PLACE:
          if (isAt(states[place + 1], at, points, count)) {
            left = put(states[place + 2], waiting, left, seen, turn);
          }
          break;
        case LOOK: {
          int kind = states[place + 2];
          boolean isFound = search(points, count, states[place + 1], at, kind >= 2 ? -1 : 1, false, steps);
          if (isFound != ((kind & 1) == 1)) {
            left = put(states[place + 3], waiting, left, seen, turn);
          }
          break;
        }
        default:
          return -1;
      }
    }
    return made;
  }

  private static int put(int state, int[] waiting, int left, int[] seen, int turn) {
    if (seen[state] == turn) {
      return left;
    }
    seen[state] = turn;
    waiting[left] = state;
    return left + 1;
  }

  private static boolean holds(int[] spans, int point) {
    int low = 0;
    int high = spans.length / 2 - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      if (point < spans[2 * middle]) {
        high = middle - 1;
      } else if (point > spans[2 * middle + 1]) {
        low = middle + 1;
      } else {
        return true;
      }
    }
    return false;
  }

  private static boolean isAt(int kind, int at, int[] points, int count) {
    if (kind == 0) {
      return at == 0;
    }
    if (kind == 1) {
      return at == count;
    }
    boolean before = at > 0 && isWord(points[at - 1]);
    boolean after = at < count && isWord(points[at]);
    return (before != after) == (kind == 2);
  }

  private static boolean isWord(int point) {
    return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z') || (point >= '0' && point <= '9')
        || point == '_';
  }
}
