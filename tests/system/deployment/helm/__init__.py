"""The Helm chart, rendered by Helm itself."""
