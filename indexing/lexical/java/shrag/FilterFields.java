package shrag;

import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntField;
import org.apache.lucene.document.SortedSetDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.ConstantScoreQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermInSetQuery;
import org.apache.lucene.util.BytesRef;

/**
 * The fields that documents are filtered and counted by: the year as points and doc values; the others as a key, to
 * filter by, and doc values of the key and the value to show.
 */
public final class FilterFields {
  static final String YEAR = "year";
  static final List<String> VALUES = List.of("language", "journal", "type", "author");
  static final char UNIT = '\u001f';

  private FilterFields() {}

  /** Gives a document these fields instead of those that it has, written as shrag.indexing.filter_fields does. */
  public static void set(Document document, String written) {
    document.removeFields(YEAR);
    VALUES.forEach(document::removeFields);
    if (written.isEmpty()) {
      return;
    }
    for (Iterator<String> parts = IndexSearch.split(written).iterator(); parts.hasNext(); ) {
      String field = parts.next();
      String value = parts.next();
      if (field.equals(YEAR)) {
        document.add(new IntField(YEAR, Integer.parseInt(value), Field.Store.NO));
      } else {
        document.add(new StringField(field, value.substring(0, value.indexOf(UNIT)), Field.Store.NO));
        document.add(new SortedSetDocValuesField(field, new BytesRef(value)));
      }
    }
  }

  /** Returns the query of the documents that pass all limits. */
  public static Query query(Collection<String> limits) {
    BooleanQuery.Builder all = new BooleanQuery.Builder();
    limits.forEach(limit -> all.add(limit(limit), Occur.FILTER));
    return new ConstantScoreQuery(all.build());
  }

  /** Returns the field that a limit is of. */
  static String field(String limit) {
    return limit.substring(0, limit.indexOf(UNIT));
  }

  private static Query limit(String limit) {
    String[] parts = limit.split(String.valueOf(UNIT));
    if (parts[0].equals(YEAR)) {
      return IntField.newRangeQuery(YEAR, Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
    }
    return new TermInSetQuery(parts[0], Arrays.stream(parts).skip(1).map(BytesRef::new).toList());
  }
}
