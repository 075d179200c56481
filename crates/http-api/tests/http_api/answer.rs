//! An answer of the API.

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        assert!(
            self.headers.get_all(name).iter().count() <= 1,
            "{name} is repeated"
        );
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    /// The body of an answer that must have this status.
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        if self.body.is_empty() {
            Value::Null
        } else {
            self.json()
        }
    }

    /// The body of a refusal that must have this status and code, without its request id.
    #[track_caller]
    pub(crate) fn refusal(&self, status: u16, code: &str) -> Value {
        let mut problem = self.json();
        assert_eq!(
            (self.status, &problem["code"]),
            (status, &json!(code)),
            "{}",
            self.body
        );
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.header("cache-control"), Some("no-store"));
        assert_eq!(problem["status"], json!(status));
        let page = problem["type"].as_str().unwrap();
        assert!(page.ends_with(&format!("/problems/{code}")), "{page}");
        assert!(self.body.ends_with("}\n"), "{:?}", self.body);
        let request_id = problem
            .as_object_mut()
            .unwrap()
            .shift_remove("requestId")
            .unwrap();
        assert_eq!(request_id.as_str(), self.header("x-request-id"));
        problem
    }

    /// The JSON Pointers of a refusal because of its fields.
    #[track_caller]
    pub(crate) fn pointers(&self) -> Vec<String> {
        let problem = self.refusal(422, "invalid_fields");
        let errors = problem["errors"].as_array().unwrap().iter();
        errors
            .map(|error| error["pointer"].as_str().unwrap().to_owned())
            .collect()
    }
}
