"""The terms of compatibility, without any language: levels, policies, rules, findings, misfits."""
