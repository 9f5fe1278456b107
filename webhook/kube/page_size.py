"""Choose how many objects a page of a list is asked for, so that one page takes little memory whatever its objects weigh."""

from __future__ import annotations

from webhook.kube.answer import MOST_BYTES

WANTED_BYTES = 1 << 20
"""What a page is to weigh. Decoded, the worst of JSON takes some twenty times as much memory."""
MOST_PAGE_BYTES = 2 * WANTED_BYTES
"""How much of a page is read before it is given up, and asked for anew with fewer objects."""
_LESS = 4


class PageSize:
    """Hold the ``limit`` of the next page: *most* at first, 0 for all that there is. It follows the weight of the pages seen so far."""

    def __init__(self, most: int) -> None:
        self.limit = most
        self._most = most

    @property
    def most_bytes(self) -> int:
        """Give how many bytes of the next page are read. One object alone is read whole, else no list would come to its end."""
        return MOST_BYTES if self.limit == 1 else MOST_PAGE_BYTES

    def too_long(self) -> None:
        """Ask for fewer objects, since the page was longer than that."""
        self.limit = max(1, self.limit // _LESS)

    def read(self, objects: int, size: int) -> None:
        """Learn from a page of so many objects and bytes."""
        if objects and self.limit:
            fitting = WANTED_BYTES * objects // size if size else self._most
            self.limit = max(1, min(fitting, 2 * self.limit, self._most))
