;; Answers by the first letter of the path:
;;   /trap        traps before the head
;;   /nothing     returns without an answer
;;   /cut         head, one chunk, trap
;;   /unfinished  head, one chunk, return without finishing the body
;;   /dropped     head, one chunk, drop the body without finishing it
;;   else         head, one chunk, finish
(module
  (import "wasi:http/types@0.2.4" "[method]incoming-request.path-with-query"
    (func $path (param i32 i32)))
  (import "wasi:http/types@0.2.4" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@0.2.4" "[constructor]outgoing-response"
    (func $response (param i32) (result i32)))
  (import "wasi:http/types@0.2.4" "[method]outgoing-response.body" (func $body (param i32 i32)))
  (import "wasi:http/types@0.2.4" "[method]outgoing-body.write" (func $write (param i32 i32)))
  (import "wasi:http/types@0.2.4" "[static]outgoing-body.finish"
    (func $finish (param i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.4" "[resource-drop]outgoing-body" (func $drop_body (param i32)))
  (import "wasi:http/types@0.2.4" "[resource-drop]incoming-request" (func $drop_request (param i32)))
  (import "wasi:http/types@0.2.4" "[static]response-outparam.set"
    (func $set (param i32 i32 i32 i32 i64 i32 i32 i32 i32)))
  (import "wasi:io/streams@0.2.4" "[method]output-stream.blocking-write-and-flush"
    (func $flush (param i32 i32 i32 i32)))
  (import "wasi:io/streams@0.2.4" "[resource-drop]output-stream" (func $drop_stream (param i32)))

  (memory (export "memory") 1)
  (data (i32.const 0) "chunk")
  (global $next (mut i32) (i32.const 4096))

  ;; Room for paths only; starts over before the page is full.
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (if (i32.gt_u (i32.add (global.get $next) (local.get 3)) (i32.const 65000))
      (then (global.set $next (i32.const 4096))))
    (local.set $at (global.get $next))
    (global.set $next
      (i32.and (i32.add (i32.add (global.get $next) (local.get 3)) (i32.const 7)) (i32.const -8)))
    (local.get $at))

  (func (export "wasi:http/incoming-handler@0.2.4#handle") (param $request i32) (param $out i32)
    (local $letter i32) (local $answer i32) (local $content i32) (local $stream i32)
    (call $path (local.get $request) (i32.const 64))
    (local.set $letter (i32.load8_u offset=1 (i32.load (i32.const 68))))
    (call $drop_request (local.get $request))
    (if (i32.eq (local.get $letter) (i32.const 116)) (then unreachable))        ;; t
    (if (i32.eq (local.get $letter) (i32.const 110)) (then return))             ;; n
    (local.set $answer (call $response (call $fields)))
    (call $body (local.get $answer) (i32.const 64))
    (local.set $content (i32.load (i32.const 68)))
    (call $set (local.get $out) (i32.const 0) (local.get $answer)
      (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (call $write (local.get $content) (i32.const 64))
    (local.set $stream (i32.load (i32.const 68)))
    (call $flush (local.get $stream) (i32.const 0) (i32.const 5) (i32.const 64))
    (if (i32.eq (local.get $letter) (i32.const 99)) (then unreachable))         ;; c
    (if (i32.eq (local.get $letter) (i32.const 117)) (then return))             ;; u
    (call $drop_stream (local.get $stream))
    (if (i32.eq (local.get $letter) (i32.const 100))                            ;; d
      (then (call $drop_body (local.get $content)) (return)))
    (call $finish (local.get $content) (i32.const 0) (i32.const 0) (i32.const 64)))
)
