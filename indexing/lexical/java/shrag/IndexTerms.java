package shrag;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.CollectionStatistics;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.search.FuzzyTermsEnum;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.util.BytesRef;

/**
 * What Python asks of the terms of one open index, as {@link IndexSearch} answers what it asks of the documents. Safe to
 * share between threads.
 */
public final class IndexTerms {
  private record Similar(String term, int documents) {}

  private final IndexSearcher searcher;
  private final IndexReader reader;

  /** Reads the terms of the index that is searched. */
  public IndexTerms(IndexSearcher searcher) {
    this.searcher = searcher;
    this.reader = searcher.getIndexReader();
  }

  /** Returns the number of documents that have the field, and the number of its tokens, two longs. */
  public byte[] statistics(String field) throws IOException {
    CollectionStatistics found = searcher.collectionStatistics(field); // null if no document has a term in the field
    return ByteBuffer.allocate(16)
        .order(ByteOrder.nativeOrder())
        .putLong(found == null ? 0 : found.docCount())
        .putLong(found == null ? 0 : found.sumTotalTermFreq())
        .array();
  }

  /** Returns the values of a field in UTF-8, a line each, in their order: at most so many of those behind a value. */
  public byte[] values(String field, String after, int most) throws IOException {
    Terms terms = MultiTerms.getTerms(reader, field);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    if (terms == null) {
      return out.toByteArray();
    }
    TermsEnum values = terms.iterator();
    BytesRef last = new BytesRef(after);
    if (values.seekCeil(last) == TermsEnum.SeekStatus.END) {
      return out.toByteArray();
    }
    BytesRef value = values.term().equals(last) ? values.next() : values.term();
    for (int left = most; left > 0 && value != null; left--, value = values.next()) {
      out.write(value.bytes, value.offset, value.length);
      out.write('\n');
    }
    return out.toByteArray();
  }

  /** Returns how many values a field has, in an index of one segment. */
  public long count(String field) throws IOException {
    Terms terms = MultiTerms.getTerms(reader, field);
    return terms == null ? 0 : terms.size();
  }

  /** Returns how many documents have each of the values in a field, an int each. */
  public byte[] documents(String field, String values) throws IOException {
    IntStream.Builder found = IntStream.builder();
    for (String value : IndexSearch.split(values)) {
      found.add(reader.docFreq(new Term(field, value)));
    }
    return IndexSearch.bytes(found.build().toArray());
  }

  /** Returns how often a term occurs in each of the first documents that have it in a field, an int each. */
  public byte[] occurrences(String field, String term, int most) throws IOException {
    PostingsEnum postings =
        MultiTerms.getTermPostingsEnum(reader, field, new BytesRef(term), PostingsEnum.FREQS);
    IntStream.Builder found = IntStream.builder();
    for (int left = most; postings != null && left > 0 && postings.nextDoc() != DocIdSetIterator.NO_MORE_DOCS; left--) {
      found.add(postings.freq());
    }
    return IndexSearch.bytes(found.build().toArray());
  }

  /**
   * Returns the terms of a field that differ from a term by so many letters at most, the first of which is the same, and
   * that enough documents have: those of most documents first, at most so many.
   */
  public String similar(String field, String term, int edits, int fewest, int most) throws IOException {
    Terms terms = MultiTerms.getTerms(reader, field);
    List<Similar> found = new ArrayList<>();
    if (terms != null) {
      TermsEnum similar = new FuzzyTermsEnum(terms, new Term(field, term), edits, 1, true);
      for (BytesRef each = similar.next(); each != null; each = similar.next()) {
        if (similar.docFreq() >= fewest) {
          found.add(new Similar(each.utf8ToString(), similar.docFreq()));
        }
      }
    }
    found.sort(Comparator.comparing(Similar::documents).reversed().thenComparing(Similar::term));
    return String.join("\0", found.stream().limit(most).map(Similar::term).toList());
  }
}
