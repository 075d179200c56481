//! What every HTTP adapter of Keyward stands behind: accept loop, deadlines, limits, client address, request id, headers.
