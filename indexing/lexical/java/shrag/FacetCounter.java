package shrag;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiDocValues;
import org.apache.lucene.index.SortedNumericDocValues;
import org.apache.lucene.index.SortedSetDocValues;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.SimpleCollector;
import org.apache.lucene.util.BitSetIterator;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.FixedBitSet;

/** Counts the values that documents have in the fields of {@link FilterFields}. Safe to share between threads. */
final class FacetCounter {
  private final IndexSearcher searcher;
  private final IndexReader reader;
  private final Map<String, int[]> firsts = new ConcurrentHashMap<>();

  FacetCounter(IndexSearcher searcher) {
    this.searcher = searcher;
    this.reader = searcher.getIndexReader();
  }

  /**
   * Counts the documents of a query that pass all limits.
   *
   * @return their number, the number of those without a year, then for the year and each other field the number of its
   *     values, and each value with its count
   */
  List<String> count(Query query, List<String> limits, int most) throws IOException {
    FixedBitSet found = matching(query);
    Map<String, FixedBitSet> passing = new TreeMap<>();
    for (String limit : limits) {
      passing.put(FilterFields.field(limit), matching(FilterFields.query(List.of(limit))));
    }
    List<String> counted = new ArrayList<>();
    countYears(within(found, passing, FilterFields.YEAR), counted);
    for (String field : FilterFields.VALUES) {
      countValues(field, within(found, passing, field), most, counted);
    }
    counted.add(0, String.valueOf(within(found, passing, "").cardinality()));
    return counted;
  }

  /** Returns the documents of a query. */
  FixedBitSet matching(Query query) throws IOException {
    FixedBitSet found = new FixedBitSet(reader.maxDoc());
    searcher.search(
        query,
        new SimpleCollector() {
          private int base;

          @Override
          protected void doSetNextReader(LeafReaderContext leaf) {
            base = leaf.docBase;
          }

          @Override
          public void collect(int place) {
            found.set(base + place);
          }

          @Override
          public ScoreMode scoreMode() {
            return ScoreMode.COMPLETE_NO_SCORES;
          }
        });
    return found;
  }

  /** Returns the documents found that pass the limits of all fields but one. */
  private static FixedBitSet within(FixedBitSet found, Map<String, FixedBitSet> passing, String field) {
    FixedBitSet left = found.clone();
    passing.forEach(
        (limited, documents) -> {
          if (!limited.equals(field)) {
            left.and(documents);
          }
        });
    return left;
  }

  private void countYears(FixedBitSet documents, List<String> counted) throws IOException {
    SortedNumericDocValues values = MultiDocValues.getSortedNumericValues(reader, FilterFields.YEAR);
    TreeMap<Long, Integer> counts = new TreeMap<>();
    int undated = documents.cardinality();
    if (values != null) {
      DocIdSetIterator places = new BitSetIterator(documents, 0);
      while (places.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) {
        if (values.advanceExact(places.docID())) {
          counts.merge(values.nextValue(), 1, Integer::sum);
          undated--;
        }
      }
    }
    counted.add(String.valueOf(undated));
    counted.add(String.valueOf(counts.size()));
    counts.forEach(
        (year, count) -> {
          counted.add(String.valueOf(year));
          counted.add(String.valueOf(count));
        });
  }

  private void countValues(String field, FixedBitSet documents, int most, List<String> counted) throws IOException {
    SortedSetDocValues values = MultiDocValues.getSortedSetValues(reader, field);
    if (values == null) {
      counted.add("0");
      return;
    }
    int[] first = firsts(field, values);
    int[] counts = new int[first.length];
    DocIdSetIterator places = new BitSetIterator(documents, 0);
    while (places.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) {
      if (values.advanceExact(places.docID())) {
        for (int left = values.docValueCount(); left > 0; left--) {
          counts[first[(int) values.nextOrd()]]++;
        }
      }
    }
    List<Integer> chosen = mostFrequent(counts, most);
    counted.add(String.valueOf(chosen.size()));
    for (int ordinal : chosen) {
      String value = values.lookupOrd(ordinal).utf8ToString();
      counted.add(value.substring(value.indexOf(FilterFields.UNIT) + 1));
      counted.add(String.valueOf(counts[ordinal]));
    }
  }

  /** Returns the ordinals that are counted most, ties in their order. */
  private static List<Integer> mostFrequent(int[] counts, int most) {
    PriorityQueue<Integer> worstFirst =
        new PriorityQueue<>((a, b) -> counts[a] != counts[b] ? Integer.compare(counts[a], counts[b]) : b - a);
    for (int ordinal = 0; ordinal < counts.length; ordinal++) {
      if (counts[ordinal] > 0
          && (worstFirst.size() < most || counts[ordinal] > counts[worstFirst.peek()])) {
        worstFirst.add(ordinal);
        if (worstFirst.size() > most) {
          worstFirst.poll();
        }
      }
    }
    List<Integer> chosen = new ArrayList<>();
    while (!worstFirst.isEmpty()) {
      chosen.add(0, worstFirst.poll());
    }
    return chosen;
  }

  /** Returns for each value of a field the first one with the same key, which differ in letter case alone. */
  private int[] firsts(String field, SortedSetDocValues values) throws IOException {
    int[] known = firsts.get(field);
    if (known == null) {
      known = new int[(int) values.getValueCount()];
      BytesRef key = new BytesRef();
      for (int ordinal = 0; ordinal < known.length; ordinal++) {
        BytesRef value = values.lookupOrd(ordinal);
        int length = 0;
        while (value.bytes[value.offset + length] != FilterFields.UNIT) {
          length++;
        }
        BytesRef its = new BytesRef(value.bytes, value.offset, length);
        known[ordinal] = ordinal > 0 && its.bytesEquals(key) ? known[ordinal - 1] : ordinal;
        key = BytesRef.deepCopyOf(its);
      }
      firsts.put(field, known);
    }
    return known;
  }
}
