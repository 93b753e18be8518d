"""The parts that the two backends on real adapters share: joins and links as wpa_supplicant reports them,
whoever configures the address."""
