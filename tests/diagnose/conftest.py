"""Note which codes the tests of check and explain tell: test_codes.py wants every one."""

from tests.told_codes import begin

begin()
