//! Keyward's web console: setup, sign-in and Organization Settings → API Keys.
