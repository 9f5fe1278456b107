"""The presets of webhook/presets, against what their vendors' manifests ask for."""
