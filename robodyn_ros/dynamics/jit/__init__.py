"""
Compilation of functions over scalars to machine code for one robot.

`trace` records the operations of a function on symbols, as a `graph`; such functions are written
with `flow`, `flags` and `nested`. The result is a `program`; `schedule`, `lists` and `packs`
determine where and how its nodes are computed, `lower` makes the
list of operations, `llvm` writes it as LLVM IR, `machine` compiles it and
caches it on disk. `function`, `kernel` and `fastcall` call it.
"""
