"""Generated classes: files compiled by protoc, and the classes that its output makes, in a pool of their own."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import grpc_tools
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc

if TYPE_CHECKING:
    from collections.abc import Mapping

_WELL_KNOWN = Path(grpc_tools.__file__).parent / "_proto"


def compiled(files: Mapping[str, str], *, with_places: bool = False) -> FileDescriptorSet:
    """Return the descriptors of the files (texts by import path) and of all that they import, in dependency order.

    ``with_places``: they say where in its text each declaration is.
    """
    with TemporaryDirectory() as folder:
        for path, text in files.items():
            Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, path).write_text(text)
        arguments = ["protoc", f"-I{folder}", f"-I{_WELL_KNOWN}", f"-o{folder}/out", "--include_imports", *files]
        if with_places:
            arguments.append("--include_source_info")
        if protoc.main(arguments):
            raise ValueError(f"protoc refuses {list(files)}")
        return FileDescriptorSet.FromString(Path(folder, "out").read_bytes())


def generated_classes(files: Mapping[str, str]) -> dict[str, Any]:
    """Return the classes of all messages of the files by full name, those of nested messages included."""
    pool = DescriptorPool()
    for file in compiled(files).file:
        file_without_json_names(file)
        pool.AddSerializedFile(file.SerializeToString())
    waiting = [message for path in files for message in pool.FindFileByName(path).message_types_by_name.values()]
    classes: dict[str, Any] = {}
    for message in waiting:
        classes[message.full_name] = GetMessageClass(message)
        waiting.extend(each for each in message.nested_types if not each.GetOptions().map_entry)
    return classes


def file_without_json_names(file: Any) -> None:
    """Remove the names in JSON that generated code does not have: protoc writes all of them into descriptor sets."""
    waiting = list(file.message_type)
    for field in file.extension:
        field.ClearField("json_name")
    for message in waiting:
        for field in (*message.field, *message.extension):
            field.ClearField("json_name")
        waiting.extend(message.nested_type)
