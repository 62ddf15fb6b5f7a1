//! The variables that the component gets: only the documented names, from the process
//! environment, overridden by the file of `--env-file`, overridden by `--env`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use messageweave_lb::policy::settings::VARIABLES;

use crate::arguments::EnvironmentArguments;

/// The documented variables that are set, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Reads every source again: this is what SIGHUP does.
    pub(crate) fn load(arguments: &EnvironmentArguments) -> Result<Self, EnvironmentError> {
        let mut variables = Self::of_process();
        variables.0.extend(Self::given(arguments)?.0);
        Ok(variables)
    }

    /// What the file and the flags say, without the process environment.
    pub(crate) fn given(arguments: &EnvironmentArguments) -> Result<Self, EnvironmentError> {
        let mut variables = Self::default();
        if let Some(path) = &arguments.env_file {
            variables.read_file(path)?;
        }
        for (index, assignment) in arguments.assignments.iter().enumerate() {
            let assignment: Assignment =
                assignment.parse().map_err(|error| EnvironmentError::Flag { number: index + 1, error })?;
            variables.set(&assignment.name, &assignment.value);
        }
        Ok(variables)
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A value that is no UTF-8 goes on with replacement characters: the policy's parser then
    /// reports it under its key instead of the host refusing to start.
    fn of_process() -> Self {
        let set = VARIABLES.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some(((*name).to_owned(), value.to_string_lossy().into_owned()))
        });
        Self(set.collect())
    }

    /// Values are taken as they stand, without quoting, as `docker run --env-file` does: a JSON
    /// array needs no escaping.
    fn read_file(&mut self, path: &Path) -> Result<(), EnvironmentError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| EnvironmentError::Unreadable(path.to_owned(), error))?;
        // Editors that write a byte order mark do not show it.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let assignment = Assignment::of_line(line).map_err(|error| EnvironmentError::Line {
                file: path.to_owned(),
                line: index + 1,
                error,
            })?;
            self.set(&assignment.name, &assignment.value);
        }
        Ok(())
    }
}

/// One `NAME=VALUE` with a documented name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    name: String,
    value: String,
}

impl FromStr for Assignment {
    type Err = AssignmentError;

    fn from_str(text: &str) -> Result<Self, AssignmentError> {
        let (name, value) = text.split_once('=').ok_or(AssignmentError::NoEquals)?;
        match VARIABLES.contains(&name) {
            true => Ok(Self { name: name.to_owned(), value: value.to_owned() }),
            false => Err(AssignmentError::UnknownName),
        }
    }
}

impl Assignment {
    /// What only a line of a file can be is refused besides: flags are strings of C, and nobody exports in them.
    fn of_line(line: &str) -> Result<Self, AssignmentError> {
        if line.contains('\0') {
            return Err(AssignmentError::Nul);
        }
        if line.starts_with("export ") {
            return Err(AssignmentError::Export);
        }
        line.parse()
    }
}

/// Why an assignment is refused. None of its text is ever shown: a value may hold a credential, and what
/// stands before the first `=` may be the second line of a value, as base64 that ends in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AssignmentError {
    NoEquals,
    UnknownName,
    /// No environment can hold one: the component would see the value end before it.
    Nul,
    Export,
}

impl fmt::Display for AssignmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEquals => f.write_str("expected NAME=VALUE"),
            Self::Nul => f.write_str("a value cannot hold a NUL"),
            Self::Export => f.write_str("expected NAME=VALUE, without `export`"),
            Self::UnknownName => write!(f, "unknown variable; known are {}", VARIABLES.join(", ")),
        }
    }
}

impl std::error::Error for AssignmentError {}

/// Why the variables could not be read.
#[derive(Debug)]
pub(crate) enum EnvironmentError {
    Flag { number: usize, error: AssignmentError },
    Unreadable(PathBuf, std::io::Error),
    Line { file: PathBuf, line: usize, error: AssignmentError },
}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag { number, error } => write!(f, "--env, number {number}: {error}"),
            Self::Unreadable(file, error) => write!(f, "--env-file {}: {error}", file.display()),
            Self::Line { file, line, error } => {
                write!(f, "--env-file {}, line {line}: {error}", file.display())
            }
        }
    }
}

impl std::error::Error for EnvironmentError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_keeps_its_own_equals_signs() {
        let assignment: Assignment = "LB_VERSION=a=b".parse().unwrap();
        assert_eq!((assignment.name.as_str(), assignment.value.as_str()), ("LB_VERSION", "a=b"));
    }

    #[test]
    fn what_is_no_known_name_is_not_shown() {
        for text in [
            "LB_VERSON=s3cret",
            "s3cret=",
            "c2VjcmV0=",
            r#""https://admin:s3cret@b.example/?x=1"]"#,
            "s3cret",
            "=s3cret",
            "s3cret+=",
            "s3 cret=1",
        ] {
            let error = text.parse::<Assignment>().unwrap_err().to_string();
            assert!(!error.contains("s3") && !error.contains("c2V") && !error.contains("VERSON"), "{error}");
            assert_eq!(error.contains("known are LB_") || error.contains("BACKEND_"), text.contains('='));
        }
    }

    #[test]
    fn a_bad_flag_is_named_by_its_number() {
        let assignments = ["LB_VERSION=1", "LB_VERSON=1"].map(str::to_owned).to_vec();
        let arguments = EnvironmentArguments { assignments, env_file: None };
        let error = Variables::given(&arguments).unwrap_err().to_string();
        assert!(error.starts_with("--env, number 2: unknown variable; known are "), "{error}");
    }

    #[test]
    fn a_file_is_overridden_by_flags_and_its_comments_are_skipped() {
        let file = std::env::temp_dir().join(format!("lb-env-{}", std::process::id()));
        std::fs::write(&file, "# origins\n\nLB_VERSION=file\nBACKEND_ORIGINS_JSON=[\"x\"]\n").unwrap();
        let arguments = EnvironmentArguments {
            assignments: vec!["LB_VERSION=flag".to_owned()],
            env_file: Some(file.clone()),
        };
        let variables = Variables::load(&arguments).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(variables.get("LB_VERSION").as_deref(), Some("flag"));
        assert_eq!(variables.get("BACKEND_ORIGINS_JSON").as_deref(), Some("[\"x\"]"));
    }

    #[test]
    fn a_file_may_begin_with_a_byte_order_mark_and_holds_neither_nul_nor_export() {
        let file = std::env::temp_dir().join(format!("lb-env-odd-{}", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let mut variables = Variables::default();
            variables.read_file(&file).map(|()| variables).map_err(|error| error.to_string())
        };
        let marked = read("\u{feff}LB_VERSION=1\r\n").unwrap();
        let nul = read("LB_VERSION=1\nBACKEND_ORIGINS_JSON=[\"https://a.example\"]\0,s3cret\n").unwrap_err();
        let export = read("export LB_VERSION=s3cret\n").unwrap_err();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(marked.get("LB_VERSION").as_deref(), Some("1"));
        assert!(nul.ends_with("line 2: a value cannot hold a NUL"), "{nul}");
        assert!(export.ends_with("line 1: expected NAME=VALUE, without `export`"), "{export}");
    }

    #[test]
    fn a_bad_line_of_a_file_is_named_by_its_number() {
        let file = std::env::temp_dir().join(format!("lb-env-bad-{}", std::process::id()));
        std::fs::write(&file, "LB_VERSION=1\nc2VjcmV0cGFzc3dvcmQ=\n").unwrap();
        let mut variables = Variables::default();
        let error = variables.read_file(&file).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(error.contains("line 2: unknown variable"), "{error}");
        assert!(!error.contains("c2V"), "{error}");
    }
}
