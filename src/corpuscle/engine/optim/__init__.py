"""Finding weights: ``online`` (stochastic gradients with an L1 penalty), ``mert`` (minimum error rate by exact line
search), ``likelihood`` (the weights under which right candidates are likely), ``accelerated`` (gradients with momentum)
over the operators of ``proximal`` (penalties on vectors and trees)."""
