//! A document against a JSON Schema.

use jsonschema::Validator;
use serde_json::Value;

/// A schema, ready to judge.
#[derive(Debug)]
pub struct Schema(Validator);

impl Schema {
    /// From its text.
    ///
    /// # Errors
    /// When the text is no JSON Schema.
    pub fn read(text: &str) -> Result<Self, String> {
        let schema: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        jsonschema::validator_for(&schema).map(Self).map_err(|error| error.to_string())
    }

    /// What is wrong with a document, each fault in words; nothing when it fits.
    ///
    /// # Errors
    /// When the document is no JSON.
    pub fn faults(&self, document: &str) -> Result<Vec<String>, String> {
        let document = serde_json::from_str(document).map_err(|error| error.to_string())?;
        Ok(self.0.iter_errors(&document).map(|fault| fault.to_string()).collect())
    }
}
