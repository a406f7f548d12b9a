"""The Lucene index: JVM, writer, searcher, lexical re-ranker."""
