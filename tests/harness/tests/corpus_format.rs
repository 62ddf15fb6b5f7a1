//! The corpus reads without a fault, and a misspelt case does not.

use std::fs;
use std::path::PathBuf;

use messageweave_lb_harness::case::{Exceptions, cases_directory, load_all, load_file, parse};
use messageweave_lb_harness::driver::DRIVERS;

#[test]
fn every_case_file_is_well_formed() {
    match load_all(&cases_directory()) {
        Ok((cases, exceptions)) => {
            assert!(!cases.is_empty(), "the corpus is empty");
            assert_eq!(exceptions.faults(&cases, DRIVERS), Vec::<String>::new());
        }
        Err(faults) => panic!("{}", faults.join("\n")),
    }
}

#[test]
fn an_unknown_key_is_an_error_that_names_file_and_key() {
    for (key, text) in [
        ("wyh", "why = \"x\"\nwyh = 1\n[[step]]\nrequest = { target = \"/\" }\nanswer = { status = 200 }"),
        (
            "stats",
            "why = \"x\"\n[[step]]\nrequest = { target = \"/\" }\nanswer = { status = 200, stats = 1 }",
        ),
        (
            "byts",
            "why = \"x\"\n[[step]]\nrequest = { target = \"/\", headers = [[\"a\", { byts = [1] }]] }\nanswer = { status = 200 }",
        ),
        (
            "pause",
            "why = \"x\"\n[[step]]\nrequest = { target = \"/\", body = [{ pause = 1 }] }\nanswer = { status = 200 }",
        ),
        (
            "LB_TYPO",
            "why = \"x\"\nenv = { LB_TYPO = \"1\" }\n[[step]]\nrequest = { target = \"/\" }\nanswer = { status = 200 }",
        ),
        (
            "first",
            "why = \"x\"\nfirst = \"https://z.example\"\n[[step]]\nrequest = { target = \"/\" }\nanswer = { status = 200 }",
        ),
        ("answer", "why = \"x\"\n[[step]]\nrequest = { target = \"/\" }\nanswer = { }"),
    ] {
        let fault = load_text(key, text).expect_err(key);
        assert!(fault.contains(key) && fault.contains(".toml"), "{key}: {fault}");
    }
}

/// What is wrong with an exception with these keys for a case of so many steps.
fn exception_faults(steps: usize, keys: &str) -> Result<Vec<String>, String> {
    const STEP: &str = "[[step]]\nrequest = { target = \"/\" }\nanswer = { status = 200 }\n";
    let case = parse("topic/fact", &format!("why = \"x\"\n{}", STEP.repeat(steps)))?;
    let entry = "[[exception]]\ncase = \"topic/fact\"\ndriver = \"bare\"\nreason = \"x\"\n";
    Ok(Exceptions::parse(&format!("{entry}{keys}"))?.faults(&[case], DRIVERS))
}

#[test]
fn an_exception_names_places_of_its_case() {
    for (steps, keys) in [
        (1, ""),
        (1, "at = [1, \"log\"]"),
        (2, "at = [2]"),
        (2, "at = [1, 2, \"script\"]"),
        (2, "at = [\"log\"]"),
    ] {
        assert_eq!(exception_faults(steps, keys), Ok(Vec::new()), "{keys}");
    }
    for (steps, keys, found) in [
        (2, "", "topic/fact on bare does not say where"),
        (1, "at = []", "does not say where"),
        (1, "at = [1, 2]", "topic/fact has no step 2"),
        (2, "at = [0]", "has no step 0"),
        (2, "at = [2, 3]", "has no step 3"),
        (2, "at = [-1]", "a place is the number of a step"),
        (2, "at = [\"answer\"]", "a place is the number of a step"),
        (2, "where = [1]", "unknown field `where`"),
    ] {
        let faults = exception_faults(steps, keys).unwrap_or_else(|fault| vec![fault]).join("\n");
        assert!(faults.starts_with("exceptions.toml: ") && faults.contains(found), "{keys}: {faults}");
    }
}

#[test]
fn the_examples_of_the_reference_are_well_formed() {
    let readme = fs::read_to_string(cases_directory().join("README.md")).expect("README.md");
    let blocks: Vec<&str> = readme.split("```").skip(1).step_by(2).collect();
    let examples: Vec<&str> = blocks.iter().filter_map(|block| block.strip_prefix("toml\n")).collect();
    let mut cases = 0;
    for example in examples.into_iter().filter(|example| example.contains("[[step]]")) {
        let whole = example.starts_with("why");
        let text = if whole { example.to_owned() } else { format!("why = \"an excerpt\"\n{example}") };
        parse("README.md", &text).expect(&text);
        cases += 1;
    }
    assert_eq!(cases, 2, "an example was lost");
}

fn load_text(name: &str, text: &str) -> Result<(), String> {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("format");
    fs::create_dir_all(root.join("topic")).map_err(|error| error.to_string())?;
    let file = root.join("topic").join(format!("{name}.toml"));
    fs::write(&file, text).map_err(|error| error.to_string())?;
    load_file(&root, &file).map(|_| ())
}
