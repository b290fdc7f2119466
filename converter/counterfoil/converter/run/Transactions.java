import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What a task does with its records: it writes them in transactions, and returns a map for each source partition.
 *
 * <p>The map has "partition", "written" (records), "skipped" (records by kind that were committed before) and, if
 * writing failed, "failure" with "fenced" and "open_s". Janino compiles this class, so there are no lambdas, and the
 * interface is without its type parameters.
 */
public final class TransactionalWriter implements FlatMapFunction {
  final Map settings;
  final String bridge;
  final String group;
  final String sourceTopic;
  final int timeoutMs;
  final long deadlineMs;

  public TransactionalWriter(Map settings, String bridge, String group, String sourceTopic, Number timeoutMs,
      Number deadlineMs) {
    this.settings = new HashMap(settings);
    this.bridge = bridge;
    this.group = group;
    this.sourceTopic = sourceTopic;
    this.timeoutMs = timeoutMs.intValue();
    this.deadlineMs = deadlineMs.longValue();
  }

  public Iterator call(Object rows) {
    Iterator records = (Iterator) rows;
    List results = new ArrayList();
    PartitionWriter open = null;
    try {
      while (records.hasNext()) {
        InternalRow row = (InternalRow) records.next();
        int partition = row.getInt(Column.SOURCE_PARTITION);
        if (open != null && open.partition != partition) {
          Map result = open.finish();
          results.add(result);
          open = null;
          if (result.containsKey("failure")) {
            return results.iterator();
          }
        }
        if (open == null) {
          open = new PartitionWriter(this, partition);
        }
        if (!open.write(row)) {
          results.add(open.finish());
          open = null;
          return results.iterator();
        }
      }
      if (open != null) {
        results.add(open.finish());
        open = null;
      }
      return results.iterator();
    } finally {
      if (open != null) {
        open.abandon();
      }
    }
  }

  Map producerSettings(int partition) {
    Map all = new HashMap(this.settings);
    all.put("transactional.id", Names.TRANSACTIONAL_ID + this.bridge + "-" + this.sourceTopic + "-" + partition);
    all.put("transaction.timeout.ms", Integer.valueOf(this.timeoutMs));
    all.put("max.block.ms", Long.valueOf(this.deadlineMs));
    all.put("delivery.timeout.ms", Integer.valueOf(this.timeoutMs));
    all.put("request.timeout.ms", Integer.valueOf(Math.min(30000, this.timeoutMs / 2)));
    all.put("linger.ms", Integer.valueOf(20));
    all.put("batch.size", Integer.valueOf(131072));
    all.put("compression.type", "lz4");
    return all;
  }

  Map consumerSettings() {
    Map all = new HashMap(this.settings);
    all.remove("max.request.size");
    all.put("group.id", this.group);
    all.put("isolation.level", "read_committed");
    all.put("enable.auto.commit", "false");
    return all;
  }
}

/** The transactions of one source partition. */
final class PartitionWriter {
  final int partition;
  private final TransactionalWriter task;
  private final TopicPartition source;
  private final ConsumerGroupMetadata group;
  private final Map skipped = new HashMap();
  private KafkaProducer producer;
  private UTF8String topicText;
  private String topic;
  private RuntimeException failure;
  private double openSeconds;
  private long written;
  private long nextOffset;
  private int inTransaction;
  private boolean isOpen;
  private long begun;

  /** Ends what an earlier producer of this partition left open, and finds the offset that it had committed. */
  PartitionWriter(TransactionalWriter task, int partition) {
    this.task = task;
    this.partition = partition;
    this.source = new TopicPartition(task.sourceTopic, partition);
    this.group = new ConsumerGroupMetadata(task.group);
    try {
      this.producer =
          new KafkaProducer(task.producerSettings(partition), new ByteArraySerializer(), new ByteArraySerializer());
      this.producer.initTransactions();
      this.nextOffset = this.committed();
    } catch (KafkaException error) {
      this.fail(error);
    }
  }

  private long committed() {
    KafkaConsumer consumer =
        new KafkaConsumer(this.task.consumerSettings(), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    try {
      Map found = consumer.committed(Collections.singleton(this.source), Duration.ofMillis(this.task.deadlineMs));
      OffsetAndMetadata offset = (OffsetAndMetadata) found.get(this.source);
      return offset == null ? 0L : Math.max(0L, offset.offset());
    } finally {
      consumer.close();
    }
  }

  /** Writes a record, unless it is below the committed offset; returns whether the task goes on. */
  boolean write(InternalRow row) {
    if (this.failure != null) {
      return false;
    }
    long offset = row.getLong(Column.SOURCE_OFFSET);
    if (offset < this.nextOffset) {
      this.skip(row);
      return true;
    }
    try {
      if (!this.isOpen) {
        this.producer.beginTransaction();
        this.isOpen = true;
        this.begun = System.nanoTime();
      }
      this.producer.send(this.record(row));
      this.nextOffset = offset + 1;
      this.inTransaction++;
      if (this.inTransaction >= Names.RECORDS || System.nanoTime() - this.begun > Names.LONGEST_NS) {
        this.commit();
      }
    } catch (KafkaException error) {
      this.fail(error);
    }
    return this.failure == null;
  }

  private ProducerRecord record(InternalRow row) {
    UTF8String text = row.getUTF8String(Column.TOPIC);
    if (!text.equals(this.topicText)) {
      this.topicText = text.clone();
      this.topic = text.toString();
    }
    long millis = row.getLong(Column.TIMESTAMP_MS);
    ProducerRecord record = new ProducerRecord(
        this.topic,
        row.isNullAt(Column.PARTITION) ? null : Integer.valueOf(row.getInt(Column.PARTITION)),
        millis > 0 ? Long.valueOf(millis) : null,
        bytes(row, Column.KEY),
        bytes(row, Column.VALUE));
    if (!row.isNullAt(Column.HEADERS)) {
      ArrayData headers = row.getArray(Column.HEADERS);
      for (int index = 0; index < headers.numElements(); index++) {
        InternalRow header = headers.getStruct(index, 2);
        record.headers().add(new RecordHeader(header.getUTF8String(0).toString(), bytes(header, 1)));
      }
    }
    return record;
  }

  private static byte[] bytes(InternalRow row, int column) {
    return row.isNullAt(column) ? null : row.getBinary(column);
  }

  private void skip(InternalRow row) {
    String kind = row.isNullAt(Column.PROBLEM_CODE)
        ? (row.isNullAt(Column.VALUE) ? Names.TOMBSTONE : Names.CONVERTED)
        : row.getUTF8String(Column.PROBLEM_CODE).toString();
    Long before = (Long) this.skipped.get(kind);
    this.skipped.put(kind, Long.valueOf(before == null ? 1L : before.longValue() + 1L));
  }

  /** Commits the open transaction, with the offset after its last record. */
  private void commit() {
    if (!this.isOpen) {
      return;
    }
    Map positions = Collections.singletonMap(this.source, new OffsetAndMetadata(this.nextOffset));
    this.producer.sendOffsetsToTransaction(positions, this.group);
    this.producer.commitTransaction();
    this.written += this.inTransaction;
    this.isOpen = false;
    this.inTransaction = 0;
  }

  private void fail(RuntimeException error) {
    this.failure = error;
    this.openSeconds = this.isOpen ? (System.nanoTime() - this.begun) / 1e9 : 0.0;
  }

  /** Commits what is open, ends the connections, and returns the counts. */
  Map finish() {
    if (this.failure == null) {
      try {
        this.commit();
      } catch (KafkaException error) {
        this.fail(error);
      }
    }
    this.abandon();
    Map result = new HashMap();
    result.put("partition", Integer.valueOf(this.partition));
    result.put("written", Long.valueOf(this.written));
    result.put("skipped", this.skipped);
    if (this.failure != null) {
      result.put("failure", reason(this.failure));
      result.put("fenced", Boolean.valueOf(isFenced(this.failure)));
      result.put("open_s", Double.valueOf(this.openSeconds));
    }
    return result;
  }

  /** Aborts the transaction if one is open, and ends the connections. */
  void abandon() {
    if (this.producer == null) {
      return;
    }
    if (this.isOpen) {
      this.isOpen = false;
      try {
        this.producer.abortTransaction();
      } catch (RuntimeException error) {
        // the broker aborts it: when another producer begins, or after the time-out
      }
    }
    this.producer.close(Duration.ZERO);
    this.producer = null;
  }

  private static boolean isFenced(Throwable error) {
    for (Throwable each = error; each != null; each = each.getCause()) {
      if (each instanceof ProducerFencedException || each instanceof InvalidProducerEpochException) {
        return true;
      }
    }
    return false;
  }

  private static String reason(Throwable error) {
    Throwable last = error;
    while (last.getCause() != null) {
      last = last.getCause();
    }
    return last.getMessage() == null ? last.getClass().getSimpleName() : last.getMessage();
  }
}
