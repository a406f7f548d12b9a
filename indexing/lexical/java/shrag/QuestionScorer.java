package shrag;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.util.SmallFloat;

/**
 * Scores documents for one question as QuestionReranker in shrag/indexing/lexical/reranker.py does, which describes the
 * formula: the same sums in the same order, so that scores are equal to the last bit. Not safe to share.
 */
final class QuestionScorer {
  /** Terms of the pieces that a long sentence is cut into, each of which begins in the middle of the one before. */
  private final int longest;

  private final char[][] terms;
  /** The number of each term at the place of its hash, or behind it where that is taken; -1 where there is none. */
  private final int[] table;
  private final double[] inContents;
  private final double[] inTitle;
  private final double k1;
  private final double b;
  private final double contentsLength;
  private final double titleLength;
  private final double titleBoost;
  private final double mostOfWord;
  private final double sentenceWeight;
  private final double pairWeight;
  private final Segment[] segments;
  private final double[] segmentIdf;
  private final Segment[] first;
  private final Map<Long, int[]> pairs = new HashMap<>();
  private final double[] pairWeights;

  private final double[] scores;
  private final int[] counts;
  private final int[] titleCounts;

  /** A segment's terms with their counts, one after the other, and its translations' with their weights. */
  private record Segment(int[] own, int[][] translations, double[] weights) {
    /** Returns the score of its own terms or of its best translation, whichever is higher. */
    double best(double[] scores) {
      double best = sum(own, scores);
      for (int each = 0; each < weights.length; each++) {
        best = Math.max(best, weights[each] * sum(translations[each], scores));
      }
      return best;
    }
  }

  /**
   * A title or a sentence: where each of its terms starts, its number among the question's terms, -1 where it is not one
   * of them, and how many are.
   */
  private record Line(int[] starts, int[] numbers, int found) {}

  /** Reads a question, written as shrag.indexing.lexical.packed_question has it. */
  QuestionScorer(String joined, byte[] integers, byte[] numbers) {
    IntBuffer ints = ByteBuffer.wrap(integers).order(ByteOrder.nativeOrder()).asIntBuffer();
    DoubleBuffer doubles = ByteBuffer.wrap(numbers).order(ByteOrder.nativeOrder()).asDoubleBuffer();
    terms = IndexSearch.split(joined).stream().map(String::toCharArray).toArray(char[][]::new);
    table = new int[4 * Integer.highestOneBit(terms.length)];
    Arrays.fill(table, -1);
    for (int number = 0; number < terms.length; number++) {
      int place = new String(terms[number]).hashCode() & table.length - 1;
      while (table[place] >= 0) {
        place = place + 1 & table.length - 1;
      }
      table[place] = number;
    }
    longest = ints.get();
    k1 = doubles.get();
    b = doubles.get();
    contentsLength = doubles.get();
    titleLength = doubles.get();
    titleBoost = doubles.get();
    mostOfWord = doubles.get();
    sentenceWeight = doubles.get();
    pairWeight = doubles.get();
    inContents = read(doubles, terms.length);
    inTitle = read(doubles, terms.length);
    segments = segments(ints, doubles);
    first = segments(ints, doubles);
    segmentIdf = read(doubles, segments.length);
    pairWeights = read(doubles, ints.get());
    for (int left = ints.get(); left > 0; left--) {
      long pair = pair(ints.get(), ints.get());
      pairs.put(pair, read(ints, ints.get()));
    }
    scores = new double[terms.length];
    counts = new int[terms.length];
    titleCounts = new int[terms.length];
  }

  /**
   * Scores a document whose contents are these, a line for the title and one for each sentence: writes the score that
   * it is ranked by, and the one by its words alone.
   */
  void score(char[] contents, ByteBuffer out) {
    List<Line> lines = read(contents);
    int length = lines.stream().mapToInt(line -> line.numbers.length).sum();
    Line title = lines.get(0);
    count(title, titleCounts);
    Arrays.fill(counts, 0);
    lines.forEach(line -> add(line, counts));
    double contentsNorm = norm(length, contentsLength);
    double titleNorm = norm(title.numbers.length, titleLength);
    for (int term = 0; term < scores.length; term++) {
      scores[term] = counts[term] == 0 ? 0 : inContents[term] * counts[term] / (counts[term] + contentsNorm);
      if (titleCounts[term] > 0) {
        scores[term] += titleBoost * (inTitle[term] * titleCounts[term] / (titleCounts[term] + titleNorm));
      }
    }
    double words = 0;
    double damped = 0;
    for (int each = 0; each < segments.length; each++) {
      double score = segments[each].best(scores);
      words += score;
      double most = Math.min(score, mostOfWord * segmentIdf[each]);
      damped += Math.sqrt(most * Math.sqrt(most * segmentIdf[each]));
    }
    double sentence = sentenceWeight * bestSentence(title, lines);
    double pairs = pairWeight == 0 ? 0 : pairWeight * weighPairs(contents, lines);
    out.putDouble(damped + sentence + pairs).putDouble(words + sentence);
  }

  /** Returns the most that the title together with one sentence, or a piece of a long one, holds of the question. */
  private double bestSentence(Line title, List<Line> lines) {
    double best = weigh(title, 0, 0);
    for (Line line : lines.subList(1, lines.size())) {
      int length = line.numbers.length;
      if (length > longest && line.found > 1) {
        int half = longest / 2;
        int last = (length - half - 1) / half * half;
        for (int start = 0; start <= last; start += half) {
          best = Math.max(best, weigh(line, start, Math.min(start + longest, length)));
        }
      } else if (line.found > 0) {
        best = Math.max(best, weigh(line, 0, length));
      }
    }
    return best;
  }

  /** Returns what the terms of a line between two places, and of the title, hold of the question. */
  private double weigh(Line line, int start, int end) {
    for (int term = 0; term < scores.length; term++) {
      scores[term] = titleCounts[term] > 0 ? inContents[term] : 0;
    }
    hold(line, start, end);
    double total = 0;
    for (Segment segment : first) {
      total += segment.best(scores);
    }
    return total;
  }

  private void hold(Line line, int start, int end) {
    for (int place = start; place < end; place++) {
      if (line.numbers[place] >= 0) {
        scores[line.numbers[place]] = inContents[line.numbers[place]];
      }
    }
  }

  /** Returns the weight of the question's pairs of words that follow each other in one of the lines. */
  private double weighPairs(char[] contents, List<Line> lines) {
    boolean[] held = new boolean[pairWeights.length];
    for (Line line : lines) {
      for (int place = 0; line.found > 1 && place < line.numbers.length - 1; place++) {
        if (line.numbers[place] < 0) {
          continue;
        }
        mark(line.numbers[place], line.numbers[place + 1], held);
        // A compound stands after the first of its parts: 딥, 딥러닝, 러닝.
        if (place < line.numbers.length - 2 && hasCompound(contents, line, place)) {
          mark(line.numbers[place], line.numbers[place + 2], held);
        }
      }
    }
    double total = 0;
    for (int place = 0; place < held.length; place++) {
      total += held[place] ? pairWeights[place] : 0;
    }
    return total;
  }

  private void mark(int one, int other, boolean[] held) {
    int[] places = other < 0 ? null : pairs.get(pair(one, other));
    for (int at = 0; places != null && at < places.length; at++) {
      held[places[at]] = true;
    }
  }

  /** Returns whether the term at a place and the next but one are a pair, and a term of the line starts with both. */
  private boolean hasCompound(char[] contents, Line line, int place) {
    int other = line.numbers[place + 2];
    if (other < 0 || !pairs.containsKey(pair(line.numbers[place], other))) {
      return false;
    }
    char[] one = terms[line.numbers[place]];
    for (int start : line.starts) {
      if (matches(contents, start, one) && matches(contents, start + one.length, terms[other])) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether the contents have the characters of a term at a place; they have no blanks, so one term has them. */
  private static boolean matches(char[] contents, int start, char[] term) {
    int end = start + term.length;
    return end <= contents.length && Arrays.equals(contents, start, end, term, 0, term.length);
  }

  private double norm(int length, double average) {
    return k1 * (1 - b + b * SmallFloat.byte4ToInt(SmallFloat.intToByte4(length)) / average);
  }

  private static double sum(int[] counted, double[] scores) {
    double total = 0;
    for (int at = 0; at < counted.length; at += 2) {
      total += scores[counted[at]] * counted[at + 1];
    }
    return total;
  }

  /** Reads lines of terms, of which there is at least one. */
  private List<Line> read(char[] contents) {
    List<Line> lines = new ArrayList<>();
    int[] starts = new int[contents.length / 2 + 1];
    int[] numbers = new int[starts.length];
    int count = 0;
    int found = 0;
    int start = 0;
    int hash = 0;
    for (int at = 0; at <= contents.length; at++) {
      boolean ends = at == contents.length || contents[at] == '\n';
      if (!ends && !isBlank(contents[at])) {
        hash = 31 * hash + contents[at];
        continue;
      }
      if (at > start) {
        starts[count] = start;
        numbers[count] = number(contents, start, at, hash);
        found += numbers[count++] >= 0 ? 1 : 0;
      }
      if (ends) {
        lines.add(new Line(Arrays.copyOf(starts, count), Arrays.copyOf(numbers, count), found));
        count = 0;
        found = 0;
      }
      start = at + 1;
      hash = 0;
    }
    return lines;
  }

  private int number(char[] contents, int start, int end, int hash) {
    for (int place = hash & table.length - 1; table[place] >= 0; place = place + 1 & table.length - 1) {
      char[] term = terms[table[place]];
      if (term.length == end - start && matches(contents, start, term)) {
        return table[place];
      }
    }
    return -1;
  }

  /** What Python's str.split() splits at. */
  private static boolean isBlank(char character) {
    if (character > ' ' && character < '\u0085') {
      return false;
    }
    return Character.isWhitespace(character) || Character.isSpaceChar(character) || character == '\u0085';
  }

  private static void count(Line line, int[] counts) {
    Arrays.fill(counts, 0);
    add(line, counts);
  }

  private static void add(Line line, int[] counts) {
    for (int number : line.numbers) {
      if (number >= 0) {
        counts[number]++;
      }
    }
  }

  private static long pair(int one, int other) {
    return (long) one << 32 | other;
  }

  private static Segment[] segments(IntBuffer ints, DoubleBuffer doubles) {
    Segment[] found = new Segment[ints.get()];
    for (int each = 0; each < found.length; each++) {
      int[] own = read(ints, 2 * ints.get());
      int[][] translations = new int[ints.get()][];
      for (int other = 0; other < translations.length; other++) {
        translations[other] = read(ints, 2 * ints.get());
      }
      found[each] = new Segment(own, translations, read(doubles, translations.length));
    }
    return found;
  }

  private static int[] read(IntBuffer from, int count) {
    int[] found = new int[count];
    from.get(found);
    return found;
  }

  private static double[] read(DoubleBuffer from, int count) {
    double[] found = new double[count];
    from.get(found);
    return found;
  }
}
