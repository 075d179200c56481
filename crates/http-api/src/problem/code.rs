//! Problem codes, on which clients switch.

use poem::http::StatusCode;

/// The definition of a code.
pub(crate) struct ProblemType {
    /// The code as text.
    pub(crate) word: &'static str,
    pub(crate) status: StatusCode,
    pub(crate) title: &'static str,
    /// Its meaning in one or two sentences; also the default `detail`.
    pub(crate) meaning: &'static str,
    pub(crate) advice: &'static str,
}

/// Declares the codes: `Variant = "word", STATUS { title, meaning, advice }`.
macro_rules! codes {
    ($($code:ident = $word:literal, $status:ident {
        title: $title:literal,
        meaning: $meaning:literal,
        advice: $advice:literal,
    })+) => {
        /// A stable problem code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Code {
            $($code,)+
        }

        impl Code {
            pub(crate) const ALL: &[Self] = &[$(Self::$code),+];

            pub(crate) const fn definition(self) -> ProblemType {
                match self {
                    $(Self::$code => ProblemType {
                        word: $word,
                        status: StatusCode::$status,
                        title: $title,
                        meaning: $meaning,
                        advice: $advice,
                    },)+
                }
            }
        }
    };
}

codes! {
    MalformedRequest = "malformed_request", BAD_REQUEST {
        title: "Malformed request",
        meaning: "The request cannot be read.",
        advice: "Send one JSON object in UTF-8, without repeated members, and nothing after it; for introspection, \
                 a form with one `token`. \
                 Every request needs exactly one Host header, and no transfer coding but `chunked`, once.",
    }
    MalformedQuery = "malformed_query", BAD_REQUEST {
        title: "Malformed query",
        meaning: "A query parameter is unknown, repeated, or has a value that it cannot have.",
        advice: "Compare the query parameters with the operation in /openapi.json. A cursor goes with the \
                 list that returned it: send it back unchanged, and leave the filters out or as they were.",
    }
    CredentialsMissing = "credentials_missing", UNAUTHORIZED {
        title: "Credentials missing",
        meaning: "This operation needs an API key in the header `Authorization: Bearer <API key>`, and the \
                  request has none there.",
        advice: "Send the key, after the word `Bearer`; with curl: `-H \"Authorization: Bearer \
                 $KEYWARD_API_KEY\"`. The first key is created in the console, under Organization Settings, API Keys. A key anywhere else than in this \
                 header is ignored, and so are cookies.",
    }
    InvalidToken = "invalid_token", UNAUTHORIZED {
        title: "API key not accepted",
        meaning: "The API key is not accepted: it is malformed, unknown, revoked or expired, or its user left the \
                  organization.",
        advice: "Check that the whole key was copied; `keyward token check` detects typos. Otherwise \
                 create a new key in the console. Sending the same request again will not help.",
    }
    InvalidClient = "invalid_client", UNAUTHORIZED {
        title: "Verifier not accepted",
        meaning: "The request has no name and secret of a verifier in the header `Authorization: Basic`, or they are \
                  wrong.",
        advice: "Send the name and the secret that the operator of this installation gave you; with curl: `--user \
                 \"$VERIFIER:$VERIFIER_SECRET\"`. The operator makes them with `keyward verifier create`. API keys \
                 are not accepted here.",
    }
    InvalidSignature = "invalid_signature", FORBIDDEN {
        title: "Invalid signature",
        meaning: "The body has no valid signature by one of the keys that are configured here.",
        advice: "Sign the body byte by byte as it is sent, and name the key. The operator of this installation sets the keys \
                 of GitHub's reports with `--github-keys`. Without GitHub's signature, report leaked keys at \
                 `/api/v1/leaked-keys`.",
    }
    KeyMayNotManageKeys = "key_may_not_manage_keys", FORBIDDEN {
        title: "Key may not manage keys",
        meaning: "The API key was created without the right to manage keys, so it cannot create or rotate keys.",
        advice: "Create the key in the console, or with a key that may manage keys: one whose \
                 `canManageKeys` is `true`. What a key may do never changes.",
    }
    Forbidden = "forbidden", FORBIDDEN {
        title: "Not a member of the project",
        meaning: "The API key is accepted, but its user is not a member of the project that the query asks for.",
        advice: "Use a key of a member of the project, or ask an owner of the organization to add the user \
                 to it. `GET /api/v1/user/projects` lists the projects that a key has access to.",
    }
    KeyMayNotExtendItself = "key_may_not_extend_itself", FORBIDDEN {
        title: "Key may not extend itself",
        meaning: "The API key tried to postpone or remove its own `expiresAt`, which it can only bring forward.",
        advice: "Change it in the console, or with another key of the same consumer whose `canManageKeys` is \
                 `true`; or create a new key.",
    }
    NotFound = "not_found", NOT_FOUND {
        title: "Not found",
        meaning: "No resource has this path.",
        advice: "Check the path, which begins with `/api/v1`, and the identifier. A key that may not manage keys \
                 has access only to itself, others to the keys of their own consumer; and all have access to the projects \
                 that their user is a member of and that are not archived.",
    }
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED {
        title: "Method not allowed",
        meaning: "This path does not support the method of the request.",
        advice: "Use one of the methods that the header `Allow` of the response lists.",
    }
    RequestTimeout = "request_timeout", REQUEST_TIMEOUT {
        title: "Request too slow",
        meaning: "The body of the request did not arrive in time. Nothing was changed.",
        advice: "Send the request again.",
    }
    KeyLimitReached = "key_limit_reached", CONFLICT {
        title: "Key limit reached",
        meaning: "The consumer has as many valid keys as it may.",
        advice: "Revoke a key that is not needed any more, then create the new one.",
    }
    KeyTreeTooDeep = "key_tree_too_deep", CONFLICT {
        title: "Key tree too deep",
        meaning: "The calling key is the last of 32 valid keys that created one another, and no chain of keys may be longer. \
                  A rotated key and its valid successor count as one.",
        advice: "Create or rotate the key with one that was created earlier, or in the console. Revoked keys do not \
                 count, and a key may always rotate itself.",
    }
    KeyRevoked = "key_revoked", CONFLICT {
        title: "Key revoked",
        meaning: "The key is revoked or has expired. It cannot be changed.",
        advice: "Change a valid key, or create a new one.",
    }
    KeyRotated = "key_rotated", CONFLICT {
        title: "Key rotated",
        meaning: "The key was rotated to one that is valid, so its `expiresAt` can only be brought forward.",
        advice: "Use the key that `rotatedToId` names, or rotate that one to get another token. Once that key has ended, \
                 `expiresAt` can be changed as that of any other key.",
    }
    AlreadyCreated = "already_created", CONFLICT {
        title: "Already created",
        meaning: "The same request, by its `Idempotency-Key`, has created its key before. The token is not shown again.",
        advice: "If the first response, with the token, was lost, revoke the key that `id` names and create another, with \
                 another `Idempotency-Key`. If it was a rotation, rotate the key that `id` names: the response has a token, \
                 and the key that was rotated first ends at once. Or revoke the key that `id` names, and rotate the first one \
                 again with another `Idempotency-Key`: it ends as the first rotation planned, and an `expiresAt` that it had \
                 before has to be given again.",
    }
    AlreadyRotated = "already_rotated", CONFLICT {
        title: "Already rotated",
        meaning: "Another request has rotated the key to the one that `id` names, which is valid, and whose token is not \
                  shown again.",
        advice: "If another client rotated the key, it uses what `id` names: do not revoke that, rotate it to get a token of \
                 your own. The key that was rotated first then ends at once, whatever its grace, even if it is the calling \
                 key: check first that no client still uses it. If you rotated it yourself without an `Idempotency-Key`, do the same.",
    }
    InProgress = "in_progress", CONFLICT {
        title: "In progress",
        meaning: "The same request, by its `Idempotency-Key`, is still being handled.",
        advice: "Send the request again after `Retry-After` seconds. The response then says what became of the first one.",
    }
    PreconditionFailed = "precondition_failed", PRECONDITION_FAILED {
        title: "Precondition failed",
        meaning: "None of the entity tags in the header `If-Match` is the key's present one, so it was edited \
                  since; or one of those in `If-None-Match` is. Nothing was changed.",
        advice: "Get the key, see what was changed, and decide again; if the change is still wanted, send it \
                 with the `ETag` of that response. A weak tag (`W/\"…\"`) in `If-Match` never matches. The \
                 headers are optional.",
    }
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE {
        title: "Body too large",
        meaning: "The body of the request is larger than it may be: 64 KiB, or 1 MiB for a signed report of GitHub.",
        advice: "Send less in one request.",
    }
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE {
        title: "Unsupported media type",
        meaning: "The body of the request does not have the media type that this operation takes: JSON, or a form for \
                  introspection.",
        advice: "Send the header `Content-Type: application/json`, once; with curl: `-H \"Content-Type: \
                 application/json\"`. For introspection it is `application/x-www-form-urlencoded`, which curl sends \
                 by itself.",
    }
    InvalidFields = "invalid_fields", UNPROCESSABLE_ENTITY {
        title: "Invalid fields",
        meaning: "Some fields of the body are missing, unknown, or have a value that they cannot have.",
        advice: "Correct every field that the member `errors` of the response lists. Each `pointer` is a JSON \
                 Pointer (RFC 6901) into the body.",
    }
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY {
        title: "Idempotency key reused",
        meaning: "Another request of the last 24 hours, for something else, had the same `Idempotency-Key`. Nothing was changed.",
        advice: "Choose a new `Idempotency-Key` for each thing to create, such as a random UUID, and repeat it only with \
                 the same request.",
    }
    RateLimited = "rate_limited", TOO_MANY_REQUESTS {
        title: "Too many requests",
        meaning: "Too many keys were created or edited, too many keys that are not accepted or too many leak reports came from \
                  one address, or a rate limit that the operator configured was exceeded. Nothing was changed.",
        advice: "Send the request again after `Retry-After` seconds. Creating and editing keys is limited for each user of \
                 an organization, in the console and with all their keys together; revoking keys is not limited. A key that \
                 is accepted is never refused because others are not.",
    }
    Internal = "internal", INTERNAL_SERVER_ERROR {
        title: "Internal error",
        meaning: "Keyward failed to answer. This is a defect, not a mistake in the request.",
        advice: "Contact your administrator, with the `requestId` of the response: Keyward's log says more.",
    }
    Unavailable = "unavailable", SERVICE_UNAVAILABLE {
        title: "Temporarily unavailable",
        meaning: "Keyward cannot serve this request at the moment: its storage does not work, it is shutting down, or \
                  too many such requests are in progress. Nothing was changed.",
        advice: "Send the request again after `Retry-After` seconds.",
    }
    OutcomeUnknown = "outcome_unknown", SERVICE_UNAVAILABLE {
        title: "Outcome unknown",
        meaning: "Keyward did not finish in time. A change that was asked for may or may not have been made.",
        advice: "Repeat a request that had an `Idempotency-Key`, with the same one. Otherwise look first whether the \
                 change was made, then ask for it again if it was not. Revoking a key can be repeated without harm.",
    }
}

impl Code {
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.definition().word == word)
    }

    /// The code for an error of which only the status is known.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::UNAUTHORIZED => Self::InvalidToken,
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Self::MethodNotAllowed,
            StatusCode::REQUEST_TIMEOUT => Self::RequestTimeout,
            StatusCode::PAYLOAD_TOO_LARGE => Self::BodyTooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Self::UnsupportedMediaType,
            // With only the status, it is not certain that nothing was changed.
            StatusCode::SERVICE_UNAVAILABLE => Self::OutcomeUnknown,
            other if other.is_client_error() => Self::MalformedRequest,
            _ => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn every_problem_code_is_found_by_its_name() {
        for code in Code::ALL {
            assert_eq!(Code::from_word(code.definition().word), Some(*code));
        }
    }
}
