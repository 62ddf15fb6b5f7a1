//! Bodies stream: 256 MiB both ways through an instance whose linear memory is held under 4 MiB, and
//! under 6 MiB where it is shared.

use std::path::Path;

use messageweave_lb_harness::case::parse;
use messageweave_lb_harness::driver::{Component, Driver, World};

const RESPONSE: &str = r#"
why = "2.5: no response is held in memory"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example"]'
[[origin]]
url = "https://a.example"
script = [{ status = 200, body = [{ repeat = "256 MiB of one line\n", bytes = 268435456 }] }]
[[step]]
request = { target = "/api/status" }
[step.answer]
status = 200
headers = [["content-length", "268435456"]]
body = [{ repeat = "256 MiB of one line\n", bytes = 268435456 }]
[[step.upstream]]
origin = "https://a.example"
method = "GET"
target = "/api/status"
"#;

const UPLOAD: &str = r#"
why = "2.6: of a request only the replay copy is held in memory"
[env]
BACKEND_ORIGINS_JSON = '["https://a.example"]'
[[origin]]
url = "https://a.example"
script = [{ status = 200, body = "done" }]
[[step]]
[step.request]
method = "POST"
target = "/worker"
body = [{ repeat = "256 MiB of one line\n", bytes = 268435456 }]
[step.answer]
status = 200
body = "done"
[[step.upstream]]
origin = "https://a.example"
method = "POST"
target = "/worker"
headers = [["content-length", "268435456"]]
body = [{ repeat = "256 MiB of one line\n", bytes = 268435456 }]
"#;

#[test]
fn a_response_of_256_mib_passes_through_4_mib() {
    assert_eq!(run(World::Proxy, "4194304", RESPONSE), Ok(Vec::new()));
    assert_eq!(run(World::Service, "4194304", RESPONSE), Ok(Vec::new()));
}

#[test]
fn an_upload_of_256_mib_passes_through_4_mib() {
    assert_eq!(run(World::Proxy, "4194304", UPLOAD), Ok(Vec::new()));
}

#[test]
fn an_upload_of_256_mib_passes_through_a_shared_instance_of_6_mib() {
    assert_eq!(run(World::Service, "6291456", UPLOAD), Ok(Vec::new()));
}

#[test]
fn the_limit_on_the_memory_is_one() {
    for world in World::ALL {
        let found = run(world, "524288", UPLOAD).expect("a run").join("\n");
        let too_little = found.contains("the host did not start") || found.contains("got 500");
        assert!(too_little, "512 KiB are not too little for {world:?}: {found}");
    }
}

fn run(world: World, memory: &str, text: &str) -> Result<Vec<String>, String> {
    let case = parse("memory", text)?;
    let driver = Component::new(world, Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    Ok(driver.with(&["--instance-memory", memory]).run(&case))
}
