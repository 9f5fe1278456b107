"""What tests of several commands are given."""

from pathlib import Path

import pytest

from tests.cli.dry_run_command import write_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with the files that the command dry-run reads."""
    write_files(tmp_path)
    return tmp_path
