//! Keyward's HTTP API v1: resources, bearer authentication, problem details and the OpenAPI document.
