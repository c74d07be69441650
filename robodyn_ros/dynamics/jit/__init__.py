"""
From functions over scalars to machine code for one robot.

`trace` records what a function does with symbols, as a `graph`; `flow`, `flags` and `nested` are
what such functions are written with. `program` is the result, `schedule`, `lists` and `packs` say
where and how its nodes are computed, `codegen` writes LLVM IR, `machine` compiles it through a
cache on disk. `function`, `kernel` and `entry` call it.
"""
