package counterfoil.messages;

/** A type of Protobuf messages: its fields by number. */
public final class Layout {
  private static final int FEW = 128;

  public final String name;
  public Member[] members;
  private Member[] low;
  private java.util.HashMap high;
  private Object[] zeros;
  /** Whether its values need another look after reading, or before writing. */
  public boolean isSettled = true;

  public Layout(String name) {
    this.name = name;
  }

  public void fill(Member[] members) {
    this.members = members;
    low = new Member[FEW];
    high = new java.util.HashMap();
    zeros = new Object[members.length];
    for (int i = 0; i < members.length; i++) {
      Member member = members[i];
      member.index = i;
      zeros[i] = member.zero();
      if (member.number < FEW) {
        low[member.number] = member;
      } else {
        high.put(Integer.valueOf(member.number), member);
      }
    }
  }

  /** Return the field of a number; null if there is none. */
  public Member find(int number) {
    return number < FEW ? low[number] : (Member) high.get(Integer.valueOf(number));
  }

  /** Return a message in which nothing is set. */
  public Object[] empty() {
    return (Object[]) zeros.clone();
  }
}
