"""TODO indexing/build"""
