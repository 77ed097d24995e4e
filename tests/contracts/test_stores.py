"""Every store keeps the contracts (`stores.py` lists them)."""

from __future__ import annotations

from tests.contracts.keeping_contract import KeepingContract
from tests.contracts.library_contract import LibraryContract
from tests.contracts.portable_contract import PortableContract
from tests.contracts.revising_contract import RevisingContract
from tests.contracts.store_contract import StoreContract
from tests.contracts.work_contract import WorkContract


class TestStore(StoreContract):
    pass


class TestWork(WorkContract):
    pass


class TestKeeping(KeepingContract):
    pass


class TestLibrary(LibraryContract):
    pass


class TestPortable(PortableContract):
    pass


class TestRevising(RevisingContract):
    pass
