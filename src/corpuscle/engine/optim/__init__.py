"""Finding weights: ``mert`` (minimum error rate by exact line search), ``likelihood`` (the weights under which right
candidates are likely), ``lbfgs`` (by gradients and what they say of curvature)."""
