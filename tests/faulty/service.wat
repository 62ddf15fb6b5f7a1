;; Answers by the first letter of the path:
;;   /hang    waits for ever
;;   /trap    traps, and with it whoever hangs
;;   else     says that it has no answer
(module
  (import "wasi:http/types@0.3.0" "[method]request.get-path-with-query"
    (func $path (param i32 i32)))
  (import "wasi:http/types@0.3.0" "[resource-drop]request" (func $drop_request (param i32)))
  (import "$root" "[waitable-set-new]" (func $waitable_set (result i32)))
  (import "[export]wasi:http/handler@0.3.0" "[task-return]handle"
    (func $return (param i32 i32 i32 i64 i32 i32 i32 i32)))

  (memory (export "memory") 1)
  (global $next (mut i32) (i32.const 4096))

  ;; Room for the few paths of a test.
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $next))
    (global.set $next
      (i32.and (i32.add (i32.add (global.get $next) (local.get 3)) (i32.const 7)) (i32.const -8)))
    (local.get $at))

  (func (export "[async-lift]wasi:http/handler@0.3.0#handle") (param $request i32) (result i32)
    (local $letter i32)
    (call $path (local.get $request) (i32.const 64))
    (local.set $letter (i32.load8_u offset=1 (i32.load (i32.const 68))))
    (call $drop_request (local.get $request))
    (if (i32.eq (local.get $letter) (i32.const 116)) (then unreachable))        ;; t
    (if (i32.eq (local.get $letter) (i32.const 104))                            ;; h
      (then (return (i32.or (i32.const 2) (i32.shl (call $waitable_set) (i32.const 4))))))
    ;; An error: a loop was detected.
    (call $return (i32.const 1) (i32.const 36)
      (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (i32.const 0))

  (func (export "[callback][async-lift]wasi:http/handler@0.3.0#handle")
    (param i32 i32 i32) (result i32) unreachable)
)
