from __future__ import annotations

import threading

from shrag.indexing.jvm import detach_thread, java


def test_java_forgets_a_thread_that_says_it_ends() -> None:
    def visit() -> None:
        java("java.lang.System").nanoTime()
        detach_thread()

    known = java("java.lang.Thread").getAllStackTraces().size()
    for _ in range(8):
        thread = threading.Thread(target=visit)
        thread.start()
        thread.join()
    # Java's own threads come and go.
    assert java("java.lang.Thread").getAllStackTraces().size() < known + 4
