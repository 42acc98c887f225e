// Nothing but a target for headers that are compiled in advance: see atoll_googletest in cmake/AtollTesting.cmake.
