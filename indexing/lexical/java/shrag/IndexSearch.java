package shrag;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.IntField;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiBits;
import org.apache.lucene.index.ReaderUtil;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.TermStates;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.DisjunctionMaxQuery;
import org.apache.lucene.search.FieldDoc;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.SortedNumericSelector;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopFieldCollector;
import org.apache.lucene.search.TopScoreDocCollector;
import org.apache.lucene.util.Bits;

/**
 * What Python asks of one open index, each in one call: a question has dozens of small steps, and a call from Python
 * gives the interpreter's lock away and waits for it again. Safe to share between threads.
 *
 * <p>Lists of strings come and go as one string, a NUL between each two. No public method has overloads, and none
 * takes or returns an object other than strings and arrays of bytes and integers, so that a search needs no new class
 * of JPype (shrag.indexing.lexical.jvm.first_use says why). Compiled by {@code make java}.
 */
public final class IndexSearch {
  private static final int KEPT_TERMS = 10_000;
  private static final long KEPT_CHARACTERS = 16L << 20;

  private final IndexSearcher searcher;
  private final String contents;
  private final String title;
  private final float titleBoost;
  private final String docid;
  private final String raw;
  private final Sort order;
  private final List<LeafReaderContext> leaves;
  private final FacetCounter facets;
  private final ConcurrentHashMap<String, KnownTerm> known = new ConcurrentHashMap<>();
  private final LinkedHashMap<Integer, char[]> keptContents = new LinkedHashMap<>(16, 0.75f, true);
  private long keptCharacters;

  /** A term as the dictionary has it: what matches and scores it, and how many documents have it, by field. */
  private record KnownTerm(Query[] queries, int inContents, int inTitle) {}

  /** Names the fields; with a {@code titleBoost} of 0 the title is not searched by itself. */
  public IndexSearch(
      IndexSearcher searcher, String contents, String title, float titleBoost, String docid, String raw) {
    this.searcher = searcher;
    this.contents = contents;
    this.title = title;
    this.titleBoost = titleBoost;
    this.docid = docid;
    this.raw = raw;
    this.order = new Sort(SortField.FIELD_SCORE, new SortField(docid, SortField.Type.STRING_VAL));
    this.leaves = searcher.getIndexReader().leaves();
    this.facets = new FacetCounter(searcher);
  }

  /**
   * Runs queries, written as shrag.indexing.lexical.searcher has them, side by side, over the documents that pass a
   * filter, written as shrag.indexing.filter_fields has it; an empty one passes all. It scores nothing.
   *
   * @return for each query how many hits it has, at most k, then each hit's place and the bits of its score, best first
   */
  public byte[] search(String queries, int k, String filter) throws IOException {
    List<Query> read = read(queries);
    if (!filter.isEmpty()) {
      Query passing = FilterFields.query(split(filter));
      read.replaceAll(
          query -> new BooleanQuery.Builder().add(query, Occur.MUST).add(passing, Occur.FILTER).build());
    }
    ScoreDoc[][] found = new ScoreDoc[read.size()][];
    if (found.length == 1) {
      found[0] = best(read.get(0), k);
    } else {
      IOException[] failed = new IOException[1];
      IntStream.range(0, found.length)
          .parallel()
          .forEach(
              place -> {
                try {
                  found[place] = best(read.get(place), k);
                } catch (IOException error) {
                  failed[0] = error;
                }
              });
      if (failed[0] != null) {
        throw failed[0];
      }
    }
    int hits = Arrays.stream(found).mapToInt(each -> each.length).sum();
    ByteBuffer out = ByteBuffer.allocate(4 * found.length + 8 * hits).order(ByteOrder.nativeOrder());
    for (ScoreDoc[] each : found) {
      out.putInt(each.length);
      for (ScoreDoc hit : each) {
        out.putInt(hit.doc).putFloat(hit instanceof FieldDoc sorted ? (Float) sorted.fields[0] : hit.score);
      }
    }
    return out.array();
  }

  /** Returns a bit for each place, from the lowest of the first byte on: whether the document passes the filter. */
  public byte[] passing(String filter) throws IOException {
    long[] bits = facets.matching(FilterFields.query(split(filter))).getBits();
    ByteBuffer out = ByteBuffer.allocate(8 * bits.length).order(ByteOrder.LITTLE_ENDIAN);
    for (long word : bits) {
      out.putLong(word);
    }
    return out.array();
  }

  /**
   * Counts the documents that match any of the queries and pass the filter, by the values of each field, those that occur
   * most, at most so many. The values of a field that the filter limits are counted without that limit.
   */
  public String facets(String queries, String filter, int most) throws IOException {
    BooleanQuery.Builder any = new BooleanQuery.Builder();
    read(queries).forEach(query -> any.add(query, Occur.SHOULD));
    return String.join("\0", facets.count(any.build(), filter.isEmpty() ? List.of() : split(filter), most));
  }

  /** Returns how many documents have each term in their contents, then how many in their title, for one after another. */
  public byte[] frequencies(String terms) throws IOException {
    IntStream.Builder out = IntStream.builder();
    for (String term : split(terms)) {
      KnownTerm found = known(term);
      out.add(found.inContents).add(found.inTitle);
    }
    return bytes(out.build().toArray());
  }

  /** Returns the place of the document with a docid, or -1. */
  public int place(String wanted) throws IOException {
    ScoreDoc[] found = searcher.search(new TermQuery(new Term(docid, wanted)), 1).scoreDocs;
    return found.length > 0 ? found[0].doc : -1;
  }

  /** Returns the places of the documents that pass limits, the newest first, those of a year by docid, at most so many. */
  public byte[] newest(String limits, int most) throws IOException {
    Sort newestFirst =
        new Sort(
            IntField.newSortField(FilterFields.YEAR, true, SortedNumericSelector.Type.MIN),
            new SortField(docid, SortField.Type.STRING_VAL));
    ScoreDoc[] found = searcher.search(FilterFields.query(split(limits)), most, newestFirst).scoreDocs;
    return bytes(Arrays.stream(found).mapToInt(hit -> hit.doc).toArray());
  }

  /** Returns the places of documents at even distances, at most so many; the next one where one was deleted. */
  public byte[] sample(int most) throws IOException {
    Bits live = MultiBits.getLiveDocs(searcher.getIndexReader());
    int end = searcher.getIndexReader().maxDoc();
    return bytes(
        IntStream.range(0, most)
            .map(each -> alive(live, (int) ((long) each * end / most), end))
            .filter(place -> place < end)
            .distinct()
            .toArray());
  }

  private static int alive(Bits live, int from, int end) {
    int place = from;
    while (live != null && place < end && !live.get(place)) {
      place++;
    }
    return place;
  }

  /** Returns the docids of the documents at these places, which rise. */
  public String docids(int[] places) throws IOException {
    List<String> found = new ArrayList<>(places.length);
    LeafReaderContext leaf = null;
    BinaryDocValues values = null;
    for (int place : places) {
      if (leaf == null || place >= leaf.docBase + leaf.reader().maxDoc()) {
        leaf = leaves.get(ReaderUtil.subIndex(place, leaves));
        values = leaf.reader().getBinaryDocValues(docid);
      }
      values.advanceExact(place - leaf.docBase);
      found.add(values.binaryValue().utf8ToString());
    }
    return String.join("\0", found);
  }

  /**
   * Returns what is stored of the documents at these places: the length of each, then one after another in UTF-8: the
   * record, a newline and its contents.
   */
  public byte[] stored(int[] places) throws IOException {
    StoredFields fields = searcher.storedFields();
    Set<String> wanted = Set.of(raw, contents);
    byte[][] found = new byte[places.length][];
    int size = 4 * places.length;
    for (int each = 0; each < places.length; each++) {
      Document document = fields.document(places[each], wanted);
      found[each] = (document.get(raw) + '\n' + document.get(contents)).getBytes(StandardCharsets.UTF_8);
      size += found[each].length;
    }
    ByteBuffer out = ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
    for (byte[] each : found) {
      out.putInt(each.length);
    }
    for (byte[] each : found) {
      out.put(each);
    }
    return out.array();
  }

  /**
   * Returns the scores of the documents at these places for a question (shrag.indexing.lexical.reranker), two doubles
   * each: with pairs of words and without.
   */
  public byte[] score(String terms, byte[] integers, byte[] numbers, int[] places) throws IOException {
    QuestionScorer scorer = new QuestionScorer(terms, integers, numbers);
    ByteBuffer out = ByteBuffer.allocate(16 * places.length).order(ByteOrder.nativeOrder());
    for (char[] each : contents(places)) {
      scorer.score(each, out);
    }
    return out.array();
  }

  /** Returns the stored contents of documents; those read last are kept. */
  private char[][] contents(int[] places) throws IOException {
    char[][] found = new char[places.length][];
    synchronized (keptContents) {
      for (int each = 0; each < places.length; each++) {
        found[each] = keptContents.get(places[each]);
      }
    }
    StoredFields fields = null;
    for (int each = 0; each < places.length; each++) {
      if (found[each] == null) {
        fields = fields == null ? searcher.storedFields() : fields;
        found[each] = fields.document(places[each], Set.of(contents)).get(contents).toCharArray();
        keep(places[each], found[each]);
      }
    }
    return found;
  }

  private void keep(int place, char[] text) {
    synchronized (keptContents) {
      if (text.length > KEPT_CHARACTERS / 10 || keptContents.put(place, text) != null) {
        return;
      }
      keptCharacters += text.length;
      Iterator<char[]> oldest = keptContents.values().iterator();
      while (keptCharacters > KEPT_CHARACTERS) {
        keptCharacters -= oldest.next().length;
        oldest.remove();
      }
    }
  }

  private ScoreDoc[] best(Query query, int k) throws IOException {
    // Not IndexSearcher.search(query, k): that counts a thousand hits before it starts to skip any.
    TopScoreDocCollector collector = TopScoreDocCollector.create(k + 1, null, k + 1);
    searcher.search(query, collector);
    ScoreDoc[] found = collector.topDocs().scoreDocs;
    if (found.length > k && found[k].score == found[k - 1].score) {
      return tied(query, k);
    }
    return found.length > k ? Arrays.copyOf(found, k) : found;
  }

  /**
   * Does the same where several documents share the last place, by docid.
   *
   * <p>Lucene would take those that lie first in the index, which is a matter of how it was built. Deciding it by docid
   * takes up to twice the time, so it is done where it has to be.
   */
  private ScoreDoc[] tied(Query query, int k) throws IOException {
    TopFieldCollector collector = TopFieldCollector.create(order, k, null, k);
    searcher.search(query, collector);
    return collector.topDocs().scoreDocs;
  }

  private List<Query> read(String queries) throws IOException {
    List<Query> read = new ArrayList<>();
    for (Iterator<String> parts = split(queries).iterator(); parts.hasNext(); ) {
      read.add(read(parts.next(), parts));
    }
    return read;
  }

  private Query read(String part, Iterator<String> parts) throws IOException {
    String rest = part.substring(1);
    switch (part.charAt(0)) {
      case 'w':
        return new BoostQuery(read(parts.next(), parts), (float) Double.parseDouble(rest));
      case 'b':
        List<Query> ways = new ArrayList<>();
        for (int left = Integer.parseInt(rest); left > 0; left--) {
          ways.add(read(parts.next(), parts));
        }
        return new DisjunctionMaxQuery(ways, 0.0f);
      default:
        return readBoolean(part.charAt(0), rest, parts);
    }
  }

  private Query readBoolean(char kind, String rest, Iterator<String> parts) throws IOException {
    BooleanQuery.Builder builder = new BooleanQuery.Builder();
    switch (kind) {
      case 't':
        add(builder, rest);
        break;
      case 'o':
        for (int left = Integer.parseInt(rest); left > 0; left--) {
          String clause = parts.next();
          if (clause.charAt(0) == 't') {
            // Flat, so that Lucene can skip over documents that cannot enter the top k.
            add(builder, clause.substring(1));
          } else {
            builder.add(read(clause, parts), Occur.SHOULD);
          }
        }
        break;
      case 'a':
        for (int left = Integer.parseInt(rest); left > 0; left--) {
          builder.add(read(parts.next(), parts), Occur.MUST);
        }
        break;
      case 'l':
        builder.add(FilterFields.query(List.of(rest)), Occur.MUST);
        break;
      case 'n':
        builder.add(read(parts.next(), parts), Occur.MUST);
        builder.add(read(parts.next(), parts), Occur.MUST_NOT);
        break;
      default:
        throw new IllegalArgumentException("There is no kind of query " + kind);
    }
    return builder.build();
  }

  private void add(BooleanQuery.Builder builder, String term) throws IOException {
    for (Query leaf : known(term).queries) {
      builder.add(leaf, Occur.SHOULD);
    }
  }

  private KnownTerm known(String term) throws IOException {
    KnownTerm found = known.get(term);
    if (found == null) {
      if (known.size() >= KEPT_TERMS) {
        known.clear();
      }
      found = lookUp(term);
      known.put(term, found);
    }
    return found;
  }

  private KnownTerm lookUp(String term) throws IOException {
    // Given to the query, so that Lucene does not look the term up again for each query that has it.
    TermStates inContents = states(contents, term);
    TermStates inTitle = states(title, term);
    Query whole = new TermQuery(new Term(contents, term), inContents);
    if (titleBoost == 0) {
      return new KnownTerm(new Query[] {whole}, inContents.docFreq(), inTitle.docFreq());
    }
    Query boosted = new BoostQuery(new TermQuery(new Term(title, term), inTitle), titleBoost);
    return new KnownTerm(new Query[] {whole, boosted}, inContents.docFreq(), inTitle.docFreq());
  }

  private TermStates states(String field, String term) throws IOException {
    return TermStates.build(searcher, new Term(field, term), true);
  }

  static byte[] bytes(int[] integers) {
    ByteBuffer out = ByteBuffer.allocate(4 * integers.length).order(ByteOrder.nativeOrder());
    out.asIntBuffer().put(integers);
    return out.array();
  }

  static List<String> split(String joined) {
    List<String> parts = new ArrayList<>();
    int start = 0;
    for (int end = joined.indexOf('\0'); end >= 0; end = joined.indexOf('\0', start)) {
      parts.add(joined.substring(start, end));
      start = end + 1;
    }
    parts.add(joined.substring(start));
    return parts;
  }
}
