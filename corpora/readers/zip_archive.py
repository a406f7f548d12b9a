"""Open ZIP archives, such as XLSX and HWPX, with a limit on their decompressed size."""

from __future__ import annotations

import io
import zipfile

from shrag.corpora.errors import RejectedLine
from shrag.corpora.readers.source import LARGEST_RATIO, RATIO_FROM
from shrag.messages.text import Text

ZIP_MAGIC = b"PK\x03\x04"


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Open an archive; raises :class:`RejectedLine` if it is damaged, encrypted or a decompression bomb.

    The check uses the sizes that the archive states, since Python reads no more than these.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise RejectedLine(
            Text("the file is a damaged ZIP archive ({error}): copy it again from its source", error=error)
        ) from None
    if sum(entry.file_size for entry in entries) > max(RATIO_FROM, LARGEST_RATIO * len(data)):
        raise RejectedLine(
            Text(
                "the file holds more than {largest_ratio} bytes in each of its bytes, like a decompression bomb",
                largest_ratio=LARGEST_RATIO,
            )
        )
    if any(entry.flag_bits & 1 for entry in entries):
        raise RejectedLine(Text("the file is encrypted: save a copy without a password"))
    return archive
