"""Problems whose results are known."""

ASYMMETRIC = ["-X", "30", "-Y", "20", "-Z", "14", "-T0", "0.5", "-q", "0.8", "-sigma", "2", "-P", "3", "-N", "200"]
ASYMMETRIC_MEANS = {0: 500000000.0, 50: 475517391.150578, 100: 452107183.277084, 150: 384040585.685759,
                    200: 351912720.287333}
# Cells after 200 updates.
ASYMMETRIC_CELLS = {
    (0, 0, 0): 0.2669450986616595, (0, 10, 7): 0.38563806548584428, (15, 10, 7): 0.41974306253015176,
    (29, 19, 13): 0.2334876403278747, (0, 0, 7): 0.30487888959967252, (1, 10, 7): 0.4331723920311466,
    (2, 1, 0): 0.29910184028578823, (5, 10, 7): 0.50446880052915932, (29, 10, 7): 0.30396273247740657,
}
EDGE_20_MEANS = {10: 47297717.106216, 20: 77149218.217828, 30: 96708706.949865, 40: 112170422.295452,
                 50: 125291804.620491, 60: 112496655.754801, 70: 107721140.473352, 80: 104965381.982482,
                 90: 103090044.664203, 100: 101705231.273040}
EIGENMODE = ["-X", "12", "-Y", "10", "-Z", "14", "--init", "eigenmode", "--mode", "1,2,3", "-sigma", "0", "-P", "0"]


def probes(cells):
    return [word for x, y, z in cells for word in ("--probe", f"{x},{y},{z}")]


def asymmetric(bench, ranks, extra, launcher="atoll"):
    bench.run([*ASYMMETRIC, "-I", "50", *extra], ranks, launcher=launcher).expect_means(ASYMMETRIC_MEANS)
    # N = 200 makes 201 updates; the reference cells are those after 200.
    output = bench.run([*ASYMMETRIC, "--stop-after", "200", "--quiet", *probes(ASYMMETRIC_CELLS), *extra], ranks,
                       launcher=launcher)
    output.expect_cells(ASYMMETRIC_CELLS)
