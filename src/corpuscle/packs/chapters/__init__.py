"""The chapters of the report, one module a step: from what a step has found to what people read about it."""
