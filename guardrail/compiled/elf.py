"""What an ELF file's header says: a cubin or a host library, whole or cut short."""

import struct
from dataclasses import dataclass

MAGIC = b"\x7fELF"
HEADER_BYTES = 64
_CUDA_MACHINE = 190
_NEW_CUDA_ABI = 8


@dataclass(frozen=True, slots=True)
class ElfHeader:
    """The facts of an ELF header that decide how a file is read."""

    is_cubin: bool
    arch: str | None
    """Of a cubin: ``sm_90``."""
    end_of_tables: int
    """Size in bytes that the file has at least, if it is whole."""


def parse_elf_header(header: bytes) -> ElfHeader | None:
    """Read the first 64 bytes of a file.

    The layout is that of the ELF-64 specification. Where a cubin's flags keep the architecture depends on the
    version of NVIDIA's ABI: the low byte up to version 7, the next one from version 8 on.

    Args:
        header: The file's first bytes, at most 64.

    Returns:
        None where they are not those of an ELF file.
    """
    if not header.startswith(MAGIC):
        return None
    if len(header) < HEADER_BYTES:
        return ElfHeader(is_cubin=False, arch=None, end_of_tables=HEADER_BYTES)
    (machine,) = struct.unpack_from("<H", header, 18)
    program_offset, section_offset, flags = struct.unpack_from("<QQI", header, 32)
    program_size, program_count, section_size, section_count = struct.unpack_from("<4H", header, 54)
    is_cubin = machine == _CUDA_MACHINE
    number = flags >> 8 & 0xFF if header[8] >= _NEW_CUDA_ABI else flags & 0xFF
    return ElfHeader(
        is_cubin=is_cubin,
        arch=f"sm_{number}" if is_cubin else None,
        end_of_tables=max(
            program_offset + program_size * program_count, section_offset + section_size * section_count
        ),
    )
